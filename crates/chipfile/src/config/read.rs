//! Reads a chip file strictly: a problem names the file and, as far as there are any, the line, the
//! key and the expected value.

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

/// The error for a chip file that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {problem}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ChipError {
    /// The file, or `--set` for a key from the command line.
    pub file: String,
    /// The line, from 1; `None` for a problem that has no line.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// A problem of a chip file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// No such key.
    #[error("unknown key `{key}`; did you mean `{nearest}`?")]
    Unknown {
        /// The full name of the key: the names of its tables, then its own.
        key: String,
        /// The known key whose name is most similar.
        nearest: String,
    },
    /// The key does not accept the value.
    #[error("key `{key}` is {found}; expected {expected}")]
    Value {
        /// The full name of the key: the names of its tables, then its own.
        key: String,
        /// The value that was given.
        found: String,
        /// A description of the accepted values.
        expected: String,
    },
    /// A kind of cores gives a key that all kinds share.
    #[error("key `{key}` cannot differ from kind to kind; expected one of {allowed}")]
    Common {
        /// The full name of the key: the names of its tables, then its own.
        key: String,
        /// The keys that can differ from kind to kind.
        allowed: String,
    },
    /// A key that every chip must give is missing.
    #[error("key `{key}` is missing ({what}); expected {expected}{}", on_a_line(next))]
    Missing {
        /// The full name of the key: the names of its tables, then its own.
        key: String,
        /// The purpose of the key.
        what: String,
        /// A description of the accepted values.
        expected: String,
        /// The next key that is missing.
        next: Option<Box<Problem>>,
    },
    /// A key does not belong to the chip's memory model.
    #[error("key `{key}` says nothing on a chip of `memory.model = \"{model}\"`; expected it to be left out")]
    Model {
        /// The full name of the key: the names of its tables, then its own.
        key: &'static str,
        /// The chip's model.
        model: &'static str,
    },
    /// The values of two keys do not fit together.
    #[error("key `{key}` is {found}; expected {expected}")]
    Together {
        /// The key.
        key: String,
        /// The value of the key.
        found: String,
        /// A description of the values that would fit the other keys.
        expected: String,
    },
    /// A `--set` has no equals sign.
    #[error("`{0}` is no setting; expected key=value")]
    Setting(String),
}

impl Problem {
    /// The full name of the key with the problem; of several missing keys, the first.
    pub fn key(&self) -> Option<&str> {
        match self {
            Problem::Unreadable(_) | Problem::Syntax(_) | Problem::Setting(_) => None,
            Problem::Unknown { key, .. }
            | Problem::Value { key, .. }
            | Problem::Common { key, .. }
            | Problem::Missing { key, .. }
            | Problem::Together { key, .. } => Some(key),
            Problem::Model { key, .. } => Some(key),
        }
    }
}

/// The next missing key, in a line of its own.
fn on_a_line(next: &Option<Box<Problem>>) -> String {
    next.as_ref().map(|next| format!("\n  {next}")).unwrap_or_default()
}

impl ChipError {
    fn of(file: &str, line: Option<usize>, problem: Problem) -> ChipError {
        ChipError { file: file.to_owned(), line, problem }
    }
}

impl Chip {
    /// Reads a chip from the text of a chip file; messages call the file `file`.
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

    /// Reads the chip file at `path`; the `key=value` settings replace its values. A base that is
    /// given by name must be in the same folder; [`ChipText::open`] searches other folders too.
    pub fn open(path: &Path, settings: &[String]) -> Result<Chip, ChipError> {
        Chip::open_with(path, None, settings)
    }

    /// Like [`Chip::open`], scaled to another number of cores ([`Chip::resized`]) before the
    /// settings apply.
    pub fn open_with(path: &Path, cores: Option<u32>, settings: &[String]) -> Result<Chip, ChipError> {
        ChipText::open(path, &[])?.chip(cores, settings)
    }
}

/// Size of the longest chip file that is read.
const MOST_BYTES: u64 = 4 << 20;

/// Reads the text of a chip file.
///
/// # Errors
/// The file cannot be read, or is longer than a chip file can be: an endless device is refused at
/// once.
pub fn text_of(path: &Path) -> std::io::Result<String> {
    baton_trace::files::read_text(path, MOST_BYTES)
}

/// Returns a chip without values; [`Reading::finish`] refuses it until every required key has been
/// given.
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

/// The place at which a key was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPlace {
    /// By `--set`.
    CommandLine,
    /// A line of a file. Layer 0 is the file without a base.
    File { layer: usize, line: usize },
}

impl KeyPlace {
    /// Returns the line; `None` for the command line.
    fn line(self) -> Option<usize> {
        match self {
            KeyPlace::CommandLine => None,
            KeyPlace::File { line, .. } => Some(line),
        }
    }
}

struct Reading {
    chip: Chip,
    /// The place at which each key was given last.
    places: Vec<Option<KeyPlace>>,
    /// The place at which each key of each kind was given last.
    kind_places: Vec<Vec<(String, KeyPlace)>>,
    /// The value of `memory.model`, if it was given; keys of other models may come before or after
    /// it.
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

    /// Reads a key with its value, or a table.
    fn entry(
        &mut self,
        path: &str,
        value: &Spanned<DeValue<'_>>,
        here: KeyPlace,
        place: &dyn Fn(usize) -> KeyPlace,
    ) -> Result<(), (KeyPlace, Problem)> {
        let in_table = |key: &keys::Key| key.path.strip_prefix(path).is_some_and(|name| name.starts_with('.'));
        match value.get_ref() {
            _ if path == "core.kind" => self.kinds(value, place),
            DeValue::Table(inner) if KEYS.iter().any(in_table) => self.table(path, inner, place),
            _ => self.key(path, value, here).map_err(|problem| (here, problem)),
        }
    }

    fn key(&mut self, path: &str, value: &Spanned<DeValue<'_>>, place: KeyPlace) -> Result<(), Problem> {
        let Some(at) = keys::place_of(path) else {
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
        // An unknown key accepts any word here, so that the message names the key, not its value.
        let text = keys::find(path).is_none_or(|key| key.kind.is_text());
        text_value(text, value, &mut |value| self.key(path, value, KeyPlace::CommandLine))
    }

    fn finish(self) -> Result<Chip, (Option<KeyPlace>, Problem)> {
        let Reading { chip, places, kind_places, model } = self;
        let model = model.unwrap_or(chip.model());
        let keys = || KEYS.iter().zip(&places);
        let mut missing: Vec<(Option<KeyPlace>, &keys::Key)> = Vec::new();
        for (key, place) in keys() {
            match (key.need(model), place) {
                (Need::No, Some(place)) if missing.is_empty() => {
                    return Err((Some(*place), Problem::Model { key: key.path, model: model.name() }));
                }
                // What is missing up to here may be why the key says nothing: `memory.model`.
                (Need::No, Some(_)) => break,
                (Need::Must, None) => missing.push((None, key)),
                (Need::Table, None) => {
                    // If a key of a table, or of a table within it, was given, the other keys of
                    // the table are required too.
                    let within = format!("{}.", key.parts().0);
                    let given = keys().find(|(other, place)| place.is_some() && other.path.starts_with(&within));
                    missing.extend(given.map(|(_, place)| (*place, key)));
                }
                _ => {}
            }
        }
        let first = missing.first().and_then(|(place, _)| *place);
        let told = missing.iter().rev().fold(None, |next, (_, key)| {
            let (key, what, expected) = (key.path.to_owned(), needed(key.what), key.expected());
            Some(Box::new(Problem::Missing { key, what, expected, next }))
        });
        if let Some(problem) = told {
            return Err((first, *problem));
        }
        if let Some((kind, own)) = chip.devices.as_ref().and_then(Devices::missing) {
            let given = keys().find(|(key, place)| place.is_some() && key.path.starts_with("device."));
            let common = format!("device.{}", own.name);
            let key = if keys::find(&common).is_some() { common } else { format!("device.{}.{}", kind.name, own.name) };
            let (what, expected) = (needed(own.what), own.takes.expected());
            let problem = Problem::Missing { key, what, expected, next: None };
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

/// Returns the entries of a table in the order of the file, so that the first problem is reported
/// first.
fn in_file_order<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Spanned<DeString<'a>>, &'t Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// Returns the purpose of a key without the meaning of its absence: here the key cannot be absent.
fn needed(what: &str) -> String {
    let what = what.split_once("; absent:").map_or(what, |(what, _)| what);
    what.replace("0 or absent:", "0:")
}

/// Converts the value in the file to a value for a key that accepts `takes`; `None` if no key
/// accepts such a value.
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
        // A number that may have a fraction may also be written as a whole number.
        (ValueKind::Share(..), Some(Value::Whole(n))) => Some(Value::Share(n as f64)),
        (_, read) => read,
    }
}

/// Reads the value of a setting as TOML, in quotes if the key is a text, and passes the value on.
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

/// Returns the value in the file as text, for messages.
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

/// Returns the name in `known` that is most similar to `name`.
fn nearest_of<'a>(name: &str, known: &[&'a str]) -> &'a str {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).copied().unwrap_or_default()
}

/// Returns the known key that is most similar to `path`. Whole paths are compared first, then names
/// without tables. In a file, `base` is also a known key.
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
