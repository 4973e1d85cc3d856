//! Reading a chip file: strict, and every problem says file, line, key and what was expected.

mod kinds;

use super::cache::{ByDistance, Cache};
use super::chip::{Chip, MemoryModel};
use super::cores::Core;
use super::device::Devices;
use super::geometry::{self, Misfit};
use super::keys::{self, KEYS, Need, Value, ValueKind};
use std::path::Path;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

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
        nearest: String,
    },
    /// The value is not what the key takes.
    #[error("key `{key}` is {found}; expected {expected}")]
    Value {
        /// The key, with its table.
        key: String,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A key of a kind of cores that kinds share.
    #[error("key `{key}` cannot differ from kind to kind; expected one of {allowed}")]
    Common {
        /// The key, with its table.
        key: String,
        /// Keys that can.
        allowed: String,
    },
    /// A key that every chip must give.
    #[error("key `{key}` is missing ({what}); expected {expected}")]
    Missing {
        /// The key, with its table.
        key: String,
        /// What it is for.
        what: String,
        /// What may stand there.
        expected: String,
    },
    /// A key of the other memory model.
    #[error("key `{key}` says nothing on a chip of `memory.model = \"{model}\"`; expected it to be left out")]
    Model {
        /// The key, with its table.
        key: &'static str,
        /// The chip's model.
        model: &'static str,
    },
    /// Two keys that do not go together.
    #[error("key `{key}` is {found}; expected {expected}")]
    Together {
        /// The key.
        key: String,
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
        let mut read = Reading { chip: empty(), lines: vec![None; KEYS.len()], kind_lines: Vec::new(), model: None };
        read.table("", table.get_ref(), &line).map_err(|(line, problem)| failed(Some(line), problem))?;
        for setting in settings {
            read.setting(setting).map_err(|problem| ChipError { file: "--set".to_owned(), line: None, problem })?;
        }
        let off_line = KEYS.iter().position(|key| key.path == "os.off").and_then(|at| read.lines[at]);
        let mut chip = read.finish().map_err(|(line, problem)| failed(line, problem))?;
        if let Some(line) = off_line {
            chip.os.off.place = if line == 0 { "--set".to_owned() } else { format!("{file}:{line}") };
        }
        Ok(chip)
    }

    /// Reads the chip file at `path`, with `key=value` settings that replace what it says.
    pub fn open(path: &Path, settings: &[String]) -> Result<Chip, ChipError> {
        Chip::open_with(path, None, settings)
    }

    /// As [`Chip::open`], with another number of cores ([`Chip::resized`]), which the settings then replace keys of.
    pub fn open_with(path: &Path, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        let file = path.display().to_string();
        let text = text_of(path).map_err(|error| ChipError {
            file: file.clone(),
            line: None,
            problem: Problem::Unreadable(error.to_string()),
        })?;
        Chip::from_toml_at(&text, &file, cores, settings)
    }

    /// As [`Chip::open_with`], from the text of a chip file.
    pub fn from_toml_at(text: &str, file: &str, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        let Some(cores) = cores else { return Chip::from_toml_with(text, file, settings) };
        let chip = Chip::from_toml(text, file)?.resized(cores)?;
        // The lines of the resized chip's text stand in no file.
        Chip::from_toml_with(&chip.to_toml(), file, settings).map_err(|error| ChipError { line: None, ..error })
    }
}

/// Longest chip file that is read.
const MOST_BYTES: u64 = 4 << 20;

/// The text of a chip file.
///
/// # Errors
/// It cannot be read, or is longer than a chip file can be: a device that never ends is refused at once.
pub fn text_of(path: &Path) -> std::io::Result<String> {
    baton_trace::files::read_text(path, MOST_BYTES)
}

/// A chip with nothing in it yet; [`Reading::finish`] refuses it until every required key was given.
fn empty() -> Chip {
    Chip {
        name: String::new(),
        core: Core { contexts: 1, ..Default::default() },
        cache: Cache { transfer: ByDistance::default(), ..Default::default() },
        wait: Default::default(),
        os: Default::default(),
        noise: Default::default(),
        coherent: None,
        phases: None,
        devices: None,
        energy: Default::default(),
    }
}

struct Reading {
    chip: Chip,
    /// The line where each key was given; line 0 is the command line.
    lines: Vec<Option<usize>>,
    /// The same of each kind's keys.
    kind_lines: Vec<Vec<(String, usize)>>,
    /// What `memory.model` said; keys of the other model may stand before or behind it.
    model: Option<MemoryModel>,
}

impl Reading {
    fn table(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        line: &dyn Fn(usize) -> usize,
    ) -> Result<(), (usize, Problem)> {
        for (name, value) in in_file_order(table) {
            let path =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let here = line(name.span().start);
            let is_table = KEYS.iter().any(|key| key.path.starts_with(&format!("{path}.")));
            match value.get_ref() {
                _ if path == "core.kind" => self.kinds(value, line)?,
                DeValue::Table(inner) if is_table => self.table(&path, inner, line)?,
                _ => self.key(&path, value, here).map_err(|problem| (here, problem))?,
            }
        }
        Ok(())
    }

    fn key(&mut self, path: &str, value: &Spanned<DeValue<'_>>, line: usize) -> Result<(), Problem> {
        let Some(at) = KEYS.iter().position(|key| key.path == path) else {
            return Err(Problem::Unknown { key: path.to_owned(), nearest: nearest(path).to_owned() });
        };
        let key = &KEYS[at];
        let read = found_value(key.kind, value.get_ref());
        match read {
            Some(read) if key.takes(&read) => {
                if let ("memory.model", Value::Text(name)) = (key.path, &read) {
                    self.model = MemoryModel::named(name);
                }
                key.set(&mut self.chip, read);
                self.lines[at] = Some(line);
                Ok(())
            }
            _ => Err(Problem::Value {
                key: key.path.to_owned(),
                found: shown(value.get_ref()),
                expected: key.expected(),
            }),
        }
    }

    fn setting(&mut self, setting: &str) -> Result<(), Problem> {
        let Some((path, value)) = setting.split_once('=') else {
            return Err(Problem::Setting(setting.to_owned()));
        };
        let (path, value) = (path.trim(), value.trim());
        if let Some(of_kind) = path.strip_prefix("core.kind.") {
            return self.kind_setting(of_kind, value);
        }
        // An unknown key takes any word, so that it is the key which is refused.
        let text = keys::find(path)
            .is_none_or(|key| matches!(key.kind, ValueKind::Text | ValueKind::Choice(_) | ValueKind::Parsed(..)));
        text_value(text, value, &mut |value| self.key(path, value, 0))
    }

    fn finish(self) -> Result<Chip, (Option<usize>, Problem)> {
        let Reading { chip, lines, kind_lines, model } = self;
        let model = model.unwrap_or(chip.model());
        let keys = || KEYS.iter().zip(&lines);
        for (key, line) in keys() {
            let missing =
                || Problem::Missing { key: key.path.to_owned(), what: needed(key.what), expected: key.expected() };
            match (key.need(model), line) {
                (Need::No, Some(line)) => {
                    return Err((shown_line(*line), Problem::Model { key: key.path, model: model.name() }));
                }
                (Need::Must, None) => return Err((None, missing())),
                (Need::Table, None) => {
                    // One key of its table, or of a table within it, was given: the others are needed, too.
                    let (table, within) = (key.parts().0, format!("{}.", key.parts().0));
                    if let Some((_, line)) = keys().find(|(other, line)| {
                        line.is_some() && (other.parts().0 == table || other.parts().0.starts_with(&within))
                    }) {
                        return Err((line.and_then(shown_line), missing()));
                    }
                }
                _ => {}
            }
        }
        if let Some((kind, own)) = chip.devices.as_ref().and_then(Devices::missing) {
            let given = keys().find(|(key, line)| line.is_some() && key.path.starts_with("device."));
            let common = format!("device.{}", own.name);
            let key = if keys::find(&common).is_some() { common } else { format!("device.{}.{}", kind.name, own.name) };
            let problem = Problem::Missing { key, what: needed(own.what), expected: own.takes.expected() };
            return Err((given.and_then(|(_, line)| *line).and_then(shown_line), problem));
        }
        geometry::check(&chip).map_err(|misfit| {
            let Misfit { key, found, expected, kind } = misfit;
            let line = match kind {
                None => keys().find(|(known, _)| known.path == key).and_then(|(_, line)| *line),
                Some(kind) => kind_lines[kind].iter().rev().find(|(known, _)| *known == key).map(|(_, line)| *line),
            };
            (line.and_then(shown_line), Problem::Together { key, found, expected })
        })?;
        Ok(chip)
    }
}

/// A table's entries in the order of the file, so that the first problem is reported first.
fn in_file_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Spanned<DeString<'a>>, &'t Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// What a key is for, without what its absence means: here it cannot be absent.
fn needed(what: &str) -> String {
    let what = what.split_once("; absent:").map_or(what, |(what, _)| what);
    what.replace("0 or absent:", "0:")
}

/// What stands in the file, as the value of a key that takes `takes`; `None`: no value of any key.
fn found_value(takes: ValueKind, value: &DeValue<'_>) -> Option<Value> {
    let read = match value {
        DeValue::String(text) => Some(Value::Text(text.to_string())),
        DeValue::Integer(n) => {
            u64::from_str_radix(n.as_str().trim_start_matches('+'), n.radix()).ok().map(Value::Whole)
        }
        DeValue::Float(x) => x.as_str().parse().ok().map(Value::Share),
        DeValue::Boolean(on) => Some(Value::Switch(*on)),
        _ => None,
    };
    match (takes, read) {
        // A share of 0 or 1 may be written as a whole number.
        (ValueKind::Share(..), Some(Value::Whole(n))) => Some(Value::Share(n as f64)),
        (_, read) => read,
    }
}

/// Reads a setting's value as TOML, in quotes if it is a text, and passes it on.
fn text_value(
    is_text: bool,
    value: &str,
    take: &mut dyn FnMut(&Spanned<DeValue<'_>>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let value = if is_text && !value.starts_with('"') { format!("{value:?}") } else { value.to_owned() };
    let line = format!("value = {value}");
    let table = DeTable::parse(&line).map_err(|error| Problem::Syntax(error.message().to_owned()))?;
    match table.get_ref().get("value") {
        Some(value) => take(value),
        None => Err(Problem::Setting(line)),
    }
}

/// Line 0 is the command line, which has none.
fn shown_line(line: usize) -> Option<usize> {
    (line != 0).then_some(line)
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

/// The one of these that looks most like `name`.
fn nearest_of<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).copied().unwrap_or_default()
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
