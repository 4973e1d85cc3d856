//! Reading a chip file: strict, and every problem says file, line, key and what was expected.

mod files;
mod kinds;

pub use files::ChipText;

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
        /// The value of the key.
        found: String,
        /// What it must be beside the others.
        expected: String,
    },
    /// `--set` without an equals sign.
    #[error("`{0}` is no setting; expected key=value")]
    Setting(String),
}

impl ChipError {
    fn of(file: &str, line: Option<usize>, problem: Problem) -> ChipError {
        ChipError { file: file.to_owned(), line, problem }
    }
}

impl Chip {
    /// Reads a chip from the text of a chip file; `file` is its name for messages.
    pub fn from_toml(text: &str, file: &str) -> Result<Chip, ChipError> {
        Chip::from_toml_at(text, file, None, &[])
    }

    /// Like [`Chip::from_toml`], with `key=value` settings that replace what the file says.
    pub fn from_toml_with(text: &str, file: &str, settings: &[String]) -> Result<Chip, ChipError> {
        Chip::from_toml_at(text, file, None, settings)
    }

    /// Like [`Chip::from_toml_with`], scaled to another number of cores ([`Chip::resized`]) before
    /// the settings apply.
    pub fn from_toml_at(text: &str, file: &str, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        ChipText::new(text, file).chip(cores, settings)
    }

    /// Reads the chip file at `path`, with `key=value` settings that replace what it says. What it is based on by a name lies in the
    /// same folder; [`ChipText::open`] looks in others as well.
    pub fn open(path: &Path, settings: &[String]) -> Result<Chip, ChipError> {
        Chip::open_with(path, None, settings)
    }

    /// Like [`Chip::open`], scaled to another number of cores ([`Chip::resized`]) before the
    /// settings apply.
    pub fn open_with(path: &Path, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        ChipText::open(path, &[])?.chip(cores, settings)
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

/// Where a key was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPlace {
    /// By `--set`.
    CommandLine,
    /// In a file: its number, from the one that is based on none, and the line.
    File { layer: usize, line: usize },
}

impl KeyPlace {
    /// The command line has no lines.
    fn line(self) -> Option<usize> {
        match self {
            KeyPlace::CommandLine => None,
            KeyPlace::File { line, .. } => Some(line),
        }
    }
}

struct Reading {
    chip: Chip,
    /// Where each key was given last.
    places: Vec<Option<KeyPlace>>,
    /// The same of each kind's keys.
    kind_places: Vec<Vec<(String, KeyPlace)>>,
    /// What `memory.model` said; keys of the other model may stand before or behind it.
    model: Option<MemoryModel>,
}

impl Reading {
    fn table(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        place: &dyn Fn(usize) -> KeyPlace,
    ) -> Result<(), (KeyPlace, Problem)> {
        for (name, value) in in_file_order(table) {
            self.entry(&format!("{prefix}.{}", name.get_ref()), value, place(name.span().start), place)?;
        }
        Ok(())
    }

    /// A key with its value, or a table.
    fn entry(
        &mut self,
        path: &str,
        value: &Spanned<DeValue<'_>>,
        here: KeyPlace,
        place: &dyn Fn(usize) -> KeyPlace,
    ) -> Result<(), (KeyPlace, Problem)> {
        let is_table = KEYS.iter().any(|key| key.path.starts_with(&format!("{path}.")));
        match value.get_ref() {
            _ if path == "core.kind" => self.kinds(value, place),
            DeValue::Table(inner) if is_table => self.table(path, inner, place),
            _ => self.key(path, value, here).map_err(|problem| (here, problem)),
        }
    }

    fn key(&mut self, path: &str, value: &Spanned<DeValue<'_>>, place: KeyPlace) -> Result<(), Problem> {
        let Some(at) = KEYS.iter().position(|key| key.path == path) else {
            let known = nearest(path, place != KeyPlace::CommandLine);
            return Err(Problem::Unknown { key: path.to_owned(), nearest: known.to_owned() });
        };
        let key = &KEYS[at];
        let read = found_value(key.kind, value.get_ref());
        match read {
            Some(read) if key.takes(&read) => {
                if let ("memory.model", Value::Text(name)) = (key.path, &read) {
                    self.model = MemoryModel::named(name);
                }
                key.set(&mut self.chip, read);
                self.places[at] = Some(place);
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
        let text = keys::find(path).is_none_or(|key| key.kind.is_text());
        text_value(text, value, &mut |value| self.key(path, value, KeyPlace::CommandLine))
    }

    fn finish(self) -> Result<Chip, (Option<KeyPlace>, Problem)> {
        let Reading { chip, places, kind_places, model } = self;
        let model = model.unwrap_or(chip.model());
        let keys = || KEYS.iter().zip(&places);
        for (key, place) in keys() {
            let missing =
                || Problem::Missing { key: key.path.to_owned(), what: needed(key.what), expected: key.expected() };
            match (key.need(model), place) {
                (Need::No, Some(place)) => {
                    return Err((Some(*place), Problem::Model { key: key.path, model: model.name() }));
                }
                (Need::Must, None) => return Err((None, missing())),
                (Need::Table, None) => {
                    // One key of its table, or of a table within it, was given: the others are needed, too.
                    let (table, within) = (key.parts().0, format!("{}.", key.parts().0));
                    if let Some((_, place)) = keys().find(|(other, place)| {
                        place.is_some() && (other.parts().0 == table || other.parts().0.starts_with(&within))
                    }) {
                        return Err((*place, missing()));
                    }
                }
                _ => {}
            }
        }
        if let Some((kind, own)) = chip.devices.as_ref().and_then(Devices::missing) {
            let given = keys().find(|(key, place)| place.is_some() && key.path.starts_with("device."));
            let common = format!("device.{}", own.name);
            let key = if keys::find(&common).is_some() { common } else { format!("device.{}.{}", kind.name, own.name) };
            let problem = Problem::Missing { key, what: needed(own.what), expected: own.takes.expected() };
            return Err((given.and_then(|(_, place)| *place), problem));
        }
        geometry::check(&chip).map_err(|misfit| {
            let Misfit { key, found, expected, kind } = misfit;
            let place = match kind {
                None => keys().find(|(known, _)| known.path == key).and_then(|(_, place)| *place),
                Some(kind) => kind_places[kind].iter().rev().find(|(known, _)| *known == key).map(|(_, place)| *place),
            };
            (place, Problem::Together { key, found, expected })
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

/// The known key that looks most like `path`: whole paths first, then the names without their tables. A file may also have a base.
fn nearest(path: &str, in_file: bool) -> &'static str {
    let name = path.rsplit('.').next().unwrap_or(path);
    let likeness = |key: &keys::Key| {
        let whole = strsim::jaro_winkler(path, key.path);
        let last = strsim::jaro_winkler(name, key.parts().1);
        whole.max(last * 0.98)
    };
    let best = KEYS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let of_base = if in_file { strsim::jaro_winkler(path, files::BASE) } else { 0.0 };
    best.filter(|key| likeness(key) >= of_base).map_or(files::BASE, |key| key.path)
}
