//! What can go wrong with what a user writes: every error names the key, the value and what was expected.

use thiserror::Error;

/// An error in a configuration, a topology, a routing or a trace.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum NocError {
    /// A value outside its range.
    #[error("`{key}` = {value}: expected {expected}")]
    Value {
        /// The configuration key.
        key: String,
        /// The value given.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A name that is not in the registry.
    #[error("unknown {what} `{name}`{}; known: {known}", hint.as_ref().map(|h| format!(", did you mean `{h}`?")).unwrap_or_default())]
    Unknown {
        /// What kind of thing was named.
        what: &'static str,
        /// The name given.
        name: String,
        /// The nearest known name.
        hint: Option<String>,
        /// All known names.
        known: String,
    },
    /// A file that does not parse.
    #[error("{file}:{line}: {message}")]
    Parse {
        /// The file, or `<config>` for text that has none.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
    },
    /// The graph has parts between which no packet can travel.
    #[error("the topology is not connected: no path from node {from} to node {to}")]
    NotConnected {
        /// Source node.
        from: u32,
        /// Destination node.
        to: u32,
    },
    /// The channel dependency graph has a cycle.
    #[error("routing `{routing}` can deadlock on this topology: {cycle} (--allow-deadlock runs it all the same)")]
    Deadlock {
        /// Routing's name.
        routing: String,
        /// The cycle of channels, printed as a chain.
        cycle: String,
    },
    /// The network would not fit in memory.
    #[error("this network would need about {mib} MiB; the limit is {limit} MiB (`memory_limit_mib`)")]
    TooLarge {
        /// Estimated size.
        mib: u64,
        /// The limit that was set.
        limit: u64,
    },
    /// A trace that cannot be read.
    #[error("{file}: at {at}: {message}")]
    Trace {
        /// The file.
        file: String,
        /// Byte offset (binary) or line (text).
        at: String,
        /// What is wrong and what was expected.
        message: String,
    },
}

impl NocError {
    /// A TOML error with file and line.
    pub(crate) fn toml(file: &str, text: &str, e: &toml::de::Error) -> NocError {
        let line = e.span().map_or(1, |s| text[..s.start.min(text.len())].matches('\n').count() + 1);
        NocError::Parse { file: file.into(), line, message: e.message().replace('\n', " ") }
    }

    /// The same error with the place in `file`, where its key stands there with the value that is refused. An error
    /// that has a place already, or whose value comes from elsewhere, stays as it is.
    pub fn in_file(self, file: &str, text: &str) -> NocError {
        let (key, value) = match &self {
            NocError::Value { key, value, .. } => (key.as_str(), value.as_str()),
            NocError::NotConnected { .. } => ("links", ""),
            _ => return self,
        };
        // `topology.links[3].to`: the last part that is not one of a list's.
        let listed = key.split('[').next().unwrap_or(key);
        let name = listed.rsplit('.').next().unwrap_or(listed);
        let written = |line: &str| {
            let (left, right) = line.split_once('=')?;
            (left.trim() == name && right.contains(value)).then_some(())
        };
        let mut lines = (1..).zip(text.lines());
        // A list may go on over lines of its own, and then its value is on one of them.
        let listed = key.contains('[') || value.is_empty();
        let begins = |line: &str| line.split_once('=').is_some_and(|(left, _)| left.trim() == name);
        let found = lines.find(|(_, l)| written(l).is_some() || (listed && begins(l)));
        match found {
            Some((line, _)) => NocError::Parse { file: file.into(), line, message: self.to_string() },
            None => self,
        }
    }
}

/// Shorthand for a bad value.
pub(crate) fn bad(key: &str, value: impl ToString, expected: impl Into<String>) -> NocError {
    NocError::Value { key: key.into(), value: value.to_string(), expected: expected.into() }
}

/// Looks `name` up in a registry of names; a miss carries the nearest known name.
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
