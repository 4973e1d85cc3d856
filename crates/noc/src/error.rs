//! Errors in what a user wrote. Most name the place (a key or a file's line), what stands there,
//! and what was expected; the others say why a network cannot be built or run.

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a configuration, a topology, a routing table or a trace.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum NocError {
    /// A value outside its range.
    #[error("`{key}` = {value}: expected {expected}")]
    Value {
        /// The configuration key that has the value.
        key: String,
        /// The value that was given.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A name that no registry knows.
    #[error("unknown {what} `{name}`{}; known: {known}", hint.as_ref().map(|h| format!(", did you mean `{h}`?")).unwrap_or_default())]
    Unknown {
        /// The kind of thing that was named, such as `arbiter`.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The nearest known name, if one is near.
        hint: Option<String>,
        /// All known names, separated by commas.
        known: String,
    },
    /// A file that does not parse.
    #[error("{file}:{line}: {message}")]
    Parse {
        /// Name of the file, or `<config>` for text that comes from no file.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A topology in which no packet can travel between some parts.
    #[error("the topology is not connected: no path from node {from} to node {to}")]
    NotConnected {
        /// A node from which no path leads to `to`.
        from: u32,
        /// The node that cannot be reached.
        to: u32,
    },
    /// A routing with a cycle in its channel dependency graph.
    #[error("routing `{routing}` can deadlock on this topology: {cycle} (--allow-deadlock runs it all the same)")]
    Deadlock {
        /// Name of the routing.
        routing: String,
        /// The cycle of channels, printed as a chain.
        cycle: String,
    },
    /// A network that would not fit in the memory limit.
    #[error("this network would need about {mib} MiB; the limit is {limit} MiB (`memory_limit_mib`)")]
    TooLarge {
        /// Estimated size in MiB.
        mib: u64,
        /// The limit, `memory_limit_mib` of the configuration.
        limit: u64,
    },
    /// A trace that cannot be read.
    #[error("{file}: at {at}: {message}")]
    Trace {
        /// Name of the file.
        file: String,
        /// The byte offset (binary traces) or line (text traces).
        at: String,
        /// What is wrong and what was expected.
        message: String,
    },
}

impl NocError {
    /// Makes a [`NocError::Parse`] of a TOML error, with the line that it points to, and the key if
    /// it points to a key's value.
    pub(crate) fn toml(file: &str, text: &str, e: &toml::de::Error) -> NocError {
        let line = e.span().map_or(1, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        let message = e.message().replace('\n', " ");
        let table = DeTable::parse(text).ok();
        let key = table.zip(e.span()).and_then(|(table, span)| key_at(table.get_ref(), span.start));
        let message = key.map_or(message.clone(), |key| format!("`{key}`: {message}"));
        NocError::Parse { file: file.into(), line, message }
    }

    /// Adds the line of `file` in which the rejected key stands with its value. Returns the error
    /// unchanged if it already names a place, or if its value does not come from this file.
    pub fn in_file(self, file: &str, text: &str) -> NocError {
        let (key, value) = match &self {
            NocError::Value { key, value, .. } => (key.as_str(), value.as_str()),
            NocError::NotConnected { .. } => ("links", ""),
            _ => return self,
        };
        // In a key such as `topology.links[3].to`, the name that stands in the file is the last
        // part outside of the list.
        let listed = key.split('[').next().unwrap_or(key);
        let name = listed.rsplit('.').next().unwrap_or(listed);
        let written = |line: &str| {
            let (left, right) = line.split_once('=')?;
            (left.trim() == name && right.contains(value)).then_some(())
        };
        let mut lines = (1..).zip(text.lines());
        // A list may continue over several lines, and the value then stands on one of them.
        let listed = key.contains('[') || value.is_empty();
        let begins = |line: &str| line.split_once('=').is_some_and(|(left, _)| left.trim() == name);
        let found = lines.find(|(_, l)| written(l).is_some() || (listed && begins(l)));
        match found {
            Some((line, _)) => NocError::Parse { file: file.into(), line, message: self.to_string() },
            None => self,
        }
    }
}

/// Shorthand for [`NocError::Value`].
pub(crate) fn bad(key: &str, value: impl ToString, expected: impl Into<String>) -> NocError {
    NocError::Value { key: key.into(), value: value.to_string(), expected: expected.into() }
}

/// Looks up `name` in a registry. The error for an unknown name carries the nearest known name.
pub(crate) fn lookup<T: Copy>(what: &'static str, name: &str, known: &[(&str, T)]) -> Result<T, NocError> {
    if let Some((_, value)) = known.iter().find(|(n, _)| *n == name) {
        return Ok(*value);
    }
    let hint = known
        .iter()
        .map(|(n, _)| (strsim::damerau_levenshtein(n, name), *n))
        .min()
        .filter(|(distance, n)| *distance <= n.len().max(name.len()) / 2)
        .map(|(_, n)| n.to_string());
    let names: Vec<&str> = known.iter().map(|(n, _)| *n).collect();
    Err(NocError::Unknown { what, name: name.into(), hint, known: names.join(", ") })
}

/// Returns the key whose value the byte `at` of the text belongs to, as `topology.links[3].to`;
/// `None` if the byte lies in no value.
fn key_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(name, value)| Some(format!("{}{}", name.get_ref(), rest_at(value, at)?)))
}

/// Returns what follows the key of `value` in [`key_at`]. A table of several lines does not contain
/// its entries' places, so every table is searched.
fn rest_at(value: &Spanned<DeValue<'_>>, at: usize) -> Option<String> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => key_at(table, at).map(|key| format!(".{key}")),
        DeValue::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(number, item)| Some(format!("[{number}]{}", rest_at(item, at)?)))
        }
        _ => None,
    };
    let is_plain = !matches!(value.get_ref(), DeValue::Table(_));
    inner.or_else(|| (value.span().start == at || is_plain && value.span().contains(&at)).then(String::new))
}
