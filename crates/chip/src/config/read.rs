//! Reading a chip file: strict, and every problem says file, line, key and what was expected.

use super::keys::{self, KEYS, Kind, Value};
use super::{ByDistance, Chip};
use std::path::Path;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A chip file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ChipError {
    /// The file, or `--set` for one key from the command line.
    pub file: String,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a chip file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// No such key.
    #[error("unknown key `{key}`; did you mean `{nearest}`?")]
    Unknown {
        /// The key, with its table.
        key: String,
        /// The known key that looks most like it.
        nearest: &'static str,
    },
    /// The value is not what the key takes.
    #[error("key `{key}` is {found}; expected {expected}")]
    Value {
        /// The key, with its table.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A key that every chip must give.
    #[error("key `{key}` is missing ({what}); expected {expected}")]
    Missing {
        /// The key, with its table.
        key: &'static str,
        /// What it is for.
        what: &'static str,
        /// What may stand there.
        expected: String,
    },
    /// Two keys that do not go together.
    #[error("key `{key}` is {found}; expected {expected}")]
    Together {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What it must be beside the others.
        expected: String,
    },
    /// `--set` without an equals sign.
    #[error("`{0}` is no setting; expected key=value")]
    Setting(String),
}

impl Chip {
    /// Reads a chip from the text of a chip file; `file` is its name for messages.
    pub fn from_toml(text: &str, file: &str) -> Result<Chip, ChipError> {
        Chip::from_toml_with(text, file, &[])
    }

    /// As [`Chip::from_toml`], with `key=value` settings that replace what the file says.
    pub fn from_toml_with(text: &str, file: &str, settings: &[String]) -> Result<Chip, ChipError> {
        let failed = |line, problem| ChipError { file: file.to_owned(), line, problem };
        let line = |at: usize| 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            failed(error.span().map(|span| line(span.start)), Problem::Syntax(error.message().to_owned()))
        })?;
        let mut read = Reading { chip: empty(), lines: vec![None; KEYS.len()] };
        read.table("", table.get_ref(), &line).map_err(|(line, problem)| failed(Some(line), problem))?;
        for setting in settings {
            read.setting(setting).map_err(|problem| ChipError { file: "--set".to_owned(), line: None, problem })?;
        }
        read.finish().map_err(|(line, problem)| failed(line, problem))
    }

    /// Reads the chip file at `path`, with `key=value` settings that replace what it says.
    pub fn open(path: &Path, settings: &[String]) -> Result<Chip, ChipError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ChipError {
            file: file.clone(),
            line: None,
            problem: Problem::Unreadable(error.to_string()),
        })?;
        Chip::from_toml_with(&text, &file, settings)
    }
}

/// A chip with nothing in it yet; [`Reading::finish`] refuses it until every required key was given.
fn empty() -> Chip {
    Chip {
        name: String::new(),
        core: Default::default(),
        cache: super::Cache { transfer: ByDistance::default(), ..Default::default() },
        wait: Default::default(),
        os: Default::default(),
        noise: Default::default(),
    }
}

struct Reading {
    chip: Chip,
    /// The line where each key was given; line 0 is the command line.
    lines: Vec<Option<usize>>,
}

impl Reading {
    fn table(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        line: &dyn Fn(usize) -> usize,
    ) -> Result<(), (usize, Problem)> {
        // In the order of the file, so that the first problem is reported first.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let path =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let here = line(name.span().start);
            let is_table = KEYS.iter().any(|key| key.path.starts_with(&format!("{path}.")));
            match value.get_ref() {
                DeValue::Table(inner) if is_table => self.table(&path, inner, line)?,
                _ => self.key(&path, value, here).map_err(|problem| (here, problem))?,
            }
        }
        Ok(())
    }

    fn key(&mut self, path: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<(), Problem> {
        let Some(at) = KEYS.iter().position(|key| key.path == path) else {
            return Err(Problem::Unknown { key: path.to_owned(), nearest: nearest(path) });
        };
        let key = &KEYS[at];
        let read = match value.get_ref() {
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            DeValue::Integer(n) => {
                u64::from_str_radix(n.as_str().trim_start_matches('+'), n.radix()).ok().map(Value::Whole)
            }
            DeValue::Float(x) => x.as_str().parse().ok().map(Value::Share),
            _ => None,
        };
        let read = match (key.kind, read) {
            // A share of 0 or 1 may be written as a whole number.
            (Kind::Share(..), Some(Value::Whole(n))) => Some(Value::Share(n as f64)),
            (_, read) => read,
        };
        match read {
            Some(read) if key.takes(&read) => {
                (key.set)(&mut self.chip, read);
                self.lines[at] = Some(line);
                Ok(())
            }
            _ => Err(Problem::Value { key: key.path, found: shown(value.get_ref()), expected: key.expected() }),
        }
    }

    fn setting(&mut self, setting: &str) -> Result<(), Problem> {
        let Some((path, value)) = setting.split_once('=') else {
            return Err(Problem::Setting(setting.to_owned()));
        };
        let (path, value) = (path.trim(), value.trim());
        let text = keys::find(path).is_some_and(|key| key.kind == Kind::Text);
        let value = if text && !value.starts_with('"') { format!("{value:?}") } else { value.to_owned() };
        let line = format!("value = {value}");
        let table = DeTable::parse(&line).map_err(|error| Problem::Syntax(error.message().to_owned()))?;
        match table.get_ref().get("value") {
            Some(value) => self.key(path, value, 0),
            None => Err(Problem::Setting(setting.to_owned())),
        }
    }

    fn finish(self) -> Result<Chip, (Option<usize>, Problem)> {
        let given = |path: &str| {
            KEYS.iter().position(|key| key.path == path).and_then(|at| self.lines[at]).filter(|&line| line != 0)
        };
        for (key, line) in KEYS.iter().zip(&self.lines) {
            let missing = || Problem::Missing { key: key.path, what: key.what, expected: key.expected() };
            if line.is_none() && key.required {
                return Err((None, missing()));
            }
            // A monitor needs both of its prices.
            let twin = match key.path.strip_suffix(".exit") {
                Some(table) => Some(format!("{table}.enter")),
                None => key.path.strip_suffix(".enter").map(|table| format!("{table}.exit")),
            };
            if line.is_none() && twin.as_deref().is_some_and(|twin| given(twin).is_some()) {
                return Err((twin.as_deref().and_then(given), missing()));
            }
        }
        let chip = self.chip;
        let lines = &self.lines;
        let at = |path: &str| KEYS.iter().position(|key| key.path == path).and_then(|at| lines[at]).filter(|&l| l != 0);
        let together = |key: &'static str, found: String, expected: String| {
            Err((at(key), Problem::Together { key, found, expected }))
        };
        let (count, cluster) = (chip.core.count, chip.core.per_cluster);
        if cluster > count || count % cluster != 0 {
            return together("core.per_cluster", cluster.to_string(), format!("a divisor of core.count, {count}"));
        }
        let clusters = count / cluster;
        if chip.core.clusters_per_socket > clusters || clusters % chip.core.clusters_per_socket != 0 {
            let expected = format!("a divisor of the number of clusters, {clusters} (core.count / core.per_cluster)");
            return together("core.clusters_per_socket", chip.core.clusters_per_socket.to_string(), expected);
        }
        if chip.cache.hit.0 == 0 {
            return together("cache.hit", "0".into(), "at least 1: a guest must not run for ever at one moment".into());
        }
        if chip.os.time_slice.0 == 0 {
            return together("os.time_slice", "0".into(), "at least 1".into());
        }
        if chip.os.futex_wake.0 < chip.os.futex_wake_none.0 {
            let expected = format!("at least os.futex_wake_none, {}", chip.os.futex_wake_none.0);
            return together("os.futex_wake", chip.os.futex_wake.0.to_string(), expected);
        }
        Ok(chip)
    }
}

/// What stands in the file, for messages.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(n) => n.as_str().to_owned(),
        DeValue::Float(x) => x.as_str().to_owned(),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// The known key that looks most like `path`: whole paths first, then the names without their tables.
fn nearest(path: &str) -> &'static str {
    let name = path.rsplit('.').next().unwrap_or(path);
    let likeness = |key: &keys::Key| {
        let whole = strsim::jaro_winkler(path, key.path);
        let last = strsim::jaro_winkler(name, key.parts().1);
        whole.max(last * 0.98)
    };
    KEYS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).map_or("chip.name", |key| key.path)
}
