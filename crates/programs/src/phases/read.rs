//! Reads a profile of phases, as strictly as other profiles are read. Each value has its source, in
//! a table with the same keys.

use super::{Class, Program};
use crate::synthetic::keys::{Limits, number, whole};
use crate::synthetic::read::{Number, Problem, Reading, Table};
use baton_machine::{Behaviour, WorkingSet};
use std::path::Path;
use std::sync::Arc;
use toml::de::DeValue;

type Result<T> = std::result::Result<T, super::ProfileError>;

/// Keys of `[program]` beside the name.
const PROGRAM: [&str; 6] = ["class", "instructions", "parallel", "rounds", "barriers", "imbalance"];
/// Keys of `[parallel]` and of `[sequential]`. If `[sequential]` is absent, sequential parts behave
/// as `[parallel]` says.
const BEHAVIOUR: [&str; 3] = ["cpi", "overlap", "sets"];
/// The form of an entry of `sets`, for messages.
const SETS: &str = "a list of [bytes, accesses in 1000 instructions], bytes from 64 to 1073741824, accesses up to 1000";
/// Largest number of sets of a behaviour.
const MOST_SETS: usize = 8;

impl Program {
    /// Reads the profile at `path`.
    ///
    /// # Errors
    /// The file and the reason; for a wrong value also the line, the key and what was expected, for
    /// a syntax error the line.
    pub fn open(path: &Path) -> Result<Program> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Program::from_toml(&text, &file),
            Err(error) => Reading { text: "", file: &file }.fail(None, Problem::Unreadable(error.to_string())),
        }
    }

    /// Reads a profile from its text; `file` is the name for messages.
    ///
    /// # Errors
    /// Those of [`Program::open`].
    pub fn from_toml(text: &str, file: &str) -> Result<Program> {
        let reading = Reading { text, file };
        let whole_text = reading.parse()?;
        let top = Table { reading: &reading, prefix: "", at: 0, entries: whole_text.get_ref() };
        top.only(&["program", "parallel", "sequential", "sources"])?;
        let table = |name: &str, prefix| Table::new(&reading, prefix, top.must(name, "a table")?);
        let program = table("program", "program.")?;
        program.only(&[&["name"], &PROGRAM[..]].concat())?;
        let together = Arc::new(behaviour(&table("parallel", "parallel.")?)?);
        let alone = match top.entries.contains_key("sequential") {
            true => Arc::new(behaviour(&table("sequential", "sequential.")?)?),
            false => together.clone(),
        };
        sources(&table("sources", "sources.")?)?;
        let class = class(&program)?;
        let most = if class.single { 0.0 } else { 1.0 };
        Ok(Program {
            name: program.text("name")?,
            class,
            instructions: program.number("instructions", whole(1.0, 1e13))? as u64,
            parallel: program.number("parallel", number(0.0, most))?,
            rounds: program.number("rounds", whole(1.0, 1e6))? as u64,
            barriers: program.number("barriers", whole(1.0, 1e6))? as u64,
            imbalance: program.number("imbalance", number(0.0, 1.0))?,
            together,
            alone,
        })
    }
}

fn class(table: &Table<'_>) -> Result<Class> {
    let expected = || format!("one of {}", Class::ALL.map(|class| class.name).join(", "));
    let value = table.must("class", &expected())?;
    let named = |text: &str| Class::ALL.into_iter().find(|class| class.name == text);
    match value.get_ref() {
        DeValue::String(text) if let Some(class) = named(text) => Ok(class),
        _ => table.wrong("class", value, expected()),
    }
}

fn behaviour(table: &Table<'_>) -> Result<Behaviour> {
    table.only(&BEHAVIOUR)?;
    let value = table.must("sets", SETS)?;
    let limits = [whole(64.0, (1u64 << 30) as f64), number(0.0, 1000.0)];
    let sets: Option<Vec<WorkingSet>> = match value.get_ref() {
        DeValue::Array(sets) if sets.len() <= MOST_SETS => sets
            .iter()
            .map(|set| {
                pair(set.get_ref(), limits).map(|[bytes, accesses]| WorkingSet { bytes: bytes as u64, accesses })
            })
            .collect(),
        _ => None,
    };
    let Some(sets) = sets else { return table.wrong("sets", value, SETS.to_owned()) };
    Ok(Behaviour {
        cpi: table.number("cpi", number(0.05, 100.0))?,
        sets,
        overlap: table.number("overlap", whole(1.0, 64.0))? as u32,
        node: None,
    })
}

fn pair(value: &DeValue<'_>, limits: [Limits; 2]) -> Option<[f64; 2]> {
    let DeValue::Array(pair) = value else { return None };
    let pair: Vec<f64> = pair.iter().map(|one| one.get_ref().number()).collect::<Option<_>>()?;
    let pair: [f64; 2] = pair.try_into().ok()?;
    pair.iter().zip(limits).all(|(&value, limits)| limits.hold(value)).then_some(pair)
}

/// Checks that each value has a source.
fn sources(table: &Table<'_>) -> Result<()> {
    let keys: Vec<&str> = PROGRAM.iter().chain(&BEHAVIOUR).copied().collect();
    table.only(&keys)?;
    keys.into_iter().try_for_each(|key| table.text(key).map(|_| ()))
}
