//! The table of a chip file's keys. Reading, writing, `--set` and the check of the docs all go through it, so a new
//! key is one field in [`Chip`] and one line here.
//!
//! | file | holds |
//! | --- | --- |
//! | [`common`] | cores, fixed prices, wait policies |
//! | [`os`] | operating system, noise |
//! | [`ocor`] | marks on lock and wake-up requests |
//! | [`coherent`] | caches, directory, memory controllers, network |
//! | [`device`] | devices |
//! | [`energy`] | prices |

mod coherent;
mod common;
mod device;
mod energy;
mod ocor;
mod os;

use super::{Chip, MemoryModel};

/// What a key's value looks like.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A name in quotes.
    Text,
    /// One of these words, in quotes.
    Choice(&'static [&'static str]),
    /// A text that the second part takes; the first says what it looks like.
    Parsed(&'static str, fn(&str) -> bool),
    /// A whole number within bounds, both included.
    Count(u64, u64),
    /// A whole number within bounds that is a power of two.
    Power(u64, u64),
    /// Whole cycles of the core's clock.
    Cycles,
    /// A number within bounds, both included.
    Share(f64, f64),
    /// True or false.
    Switch,
}

/// Cycles at most: a thousand seconds at 1 GHz, so that sums of prices cannot overflow.
pub const MOST_CYCLES: u64 = 1_000_000_000_000;

/// A key's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Count`], [`Kind::Power`] and [`Kind::Cycles`].
    Whole(u64),
    /// Of [`Kind::Share`].
    Share(f64),
    /// Of [`Kind::Switch`].
    Switch(bool),
}

/// Whether a chip file gives a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Must,
    /// It may: the key is for a thing that a chip may lack, or says what stands for its absence.
    May,
    /// It may, with all the keys of its table.
    Table,
    /// It must not.
    No,
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// Table and name, joined by a dot.
    pub path: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// Whether a chip of fixed latencies gives it.
    pub fixed: Need,
    /// Whether a coherent chip gives it.
    pub coherent: Need,
    /// What it is for.
    pub what: &'static str,
    /// Reads it.
    pub get: fn(&Chip) -> Option<Value>,
    /// Sets it; the value has been checked against `kind`.
    pub set: fn(&mut Chip, Value),
}

impl Key {
    /// The table and the name within it.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// Whether a chip of this memory model gives it.
    pub fn need(&self, model: MemoryModel) -> Need {
        match model {
            MemoryModel::Fixed => self.fixed,
            MemoryModel::Coherent => self.coherent,
        }
    }

    /// What is expected, for messages.
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Text => "a text in quotes".into(),
            Kind::Choice(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
            Kind::Parsed(expected, _) => expected.into(),
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Power(least, most) => format!("a power of two from {least} to {most}"),
            Kind::Cycles => format!("whole cycles from 0 to {MOST_CYCLES}"),
            Kind::Share(least, most) => format!("a number from {least} to {most}"),
            Kind::Switch => "true or false".into(),
        }
    }

    /// Whether `value` may stand there.
    pub fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Text, Value::Text(text)) => !text.is_empty() && !text.contains(|c: char| c.is_control()),
            (Kind::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Kind::Parsed(_, takes), Value::Text(text)) => takes(text),
            (Kind::Count(least, most), Value::Whole(n)) => (least..=most).contains(n),
            (Kind::Power(least, most), Value::Whole(n)) => (least..=most).contains(n) && n.is_power_of_two(),
            (Kind::Cycles, Value::Whole(n)) => *n <= MOST_CYCLES,
            (Kind::Share(least, most), Value::Share(x)) => (least..=most).contains(x),
            (Kind::Switch, Value::Switch(_)) => true,
            _ => false,
        }
    }
}

/// The key named `path`.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The number in a value that has one.
fn whole(value: Value) -> u64 {
    match value {
        Value::Whole(n) => n,
        Value::Share(x) => x as u64,
        Value::Switch(on) => on.into(),
        Value::Text(_) => 0,
    }
}

/// The number in a value that may have a fraction.
fn share(value: Value) -> f64 {
    match value {
        Value::Share(x) => x,
        other => whole(other) as f64,
    }
}

/// The text in a value that is one.
fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        _ => String::new(),
    }
}

/// Cores at most; sharers of a line are kept in bit sets that are this wide.
pub const MOST_CORES: u64 = 1024;

/// Several tables in one.
const fn joined<const N: usize>(parts: &[&[Key]]) -> [Key; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut i, mut at) = (0, 0, 0);
    while part < parts.len() {
        while i < parts[part].len() {
            all[at] = parts[part][i];
            (i, at) = (i + 1, at + 1);
        }
        (part, i) = (part + 1, 0);
    }
    assert!(at == N, "the tables have as many keys as the whole");
    all
}

static ALL: [Key; common::KEYS.len()
    + os::KEYS.len()
    + coherent::KEYS.len()
    + ocor::KEYS.len()
    + device::KEYS.len()
    + device::OF_KINDS.as_flattened().len()
    + energy::KEYS.len()] = joined(&[
    common::KEYS,
    os::KEYS,
    &coherent::KEYS,
    ocor::KEYS,
    device::KEYS,
    device::OF_KINDS.as_flattened(),
    &energy::KEYS,
]);

/// Every key, in the order in which a chip file is written.
pub const KEYS: &[Key] = &ALL;
