//! `meta.json`: what the launcher knows about a run. The events files do not depend on `meta.json`:
//! they contain everything that is needed to read events (clock, modules, sites, names), because a
//! program may be killed at any moment.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Most bytes of a `meta.json` that is read: it may hold sentences and other programs' notes about
/// the run, but no events.
const MOST_BYTES: u64 = 64 << 20;

/// Version of `meta.json`.
pub const META_VERSION: u32 = 1;

/// A description of the run by its launcher.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Meta {
    /// Version of this format, [`META_VERSION`].
    pub version: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Working directory of the program.
    pub directory: String,
    /// Name and version of the recorder.
    pub recorder: String,
    /// Wall clock at the program's start, in nanoseconds since 1970.
    pub started_realtime_ns: u64,
    /// Nanoseconds from the program's start to its exit.
    pub elapsed_ns: u64,
    /// Exit status, if the program exited by itself.
    pub exit_code: Option<i32>,
    /// Signal that ended the program, if one did.
    pub exit_signal: Option<i32>,
    /// The machine that the program ran on.
    pub host: Host,
    /// The lock that replaced the program's mutexes, if one did.
    pub lock: Option<String>,
    /// What the recorder could not see, in sentences for the reader.
    pub unseen: Vec<String>,
    /// What the user says about the ends of threads.
    #[serde(skip_serializing_if = "Ends::says_nothing")]
    pub ends: Ends,
    /// Other data about the run, by name.
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// The threads that the user names as background threads, or as threads that the program waits for.
/// Threads are given by name or number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ends {
    /// Threads that end because another thread tells them to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
    /// Threads whose work the program waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
}

impl Ends {
    /// Whether the user named no thread.
    pub fn says_nothing(&self) -> bool {
        self.background.is_empty() && self.until.is_empty()
    }
}

/// The machine that a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Host {
    /// Model of the processor.
    pub processor: String,
    /// Number of hardware threads that the program could use.
    pub cpus: u32,
    /// Number of hardware threads of each core.
    pub threads_per_core: u32,
    /// Number of NUMA nodes.
    pub nodes: u32,
    /// Name and version of the kernel.
    pub kernel: String,
    /// Name and version of the C library.
    pub libc: String,
}

/// Why `meta.json` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is no valid `meta.json`.
    #[error("{path}: {source}")]
    Json {
        /// Path of the file.
        path: String,
        /// Says where the text goes wrong, and what was expected there.
        source: serde_json::Error,
    },
    /// The file has a newer version than this program can read.
    #[error("{path}: version {found}, but this program reads up to {META_VERSION}")]
    Version {
        /// Path of the file.
        path: String,
        /// Version of the file.
        found: u32,
    },
}

impl Meta {
    /// Writes `meta.json` into `directory`, completely or not at all.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), MetaError> {
        let path = directory.join("meta.json");
        let io = |source| MetaError::Io { path: path.display().to_string(), source };
        let mut meta = self.clone();
        meta.version = META_VERSION;
        let mut text = serde_json::to_vec_pretty(&meta)
            .map_err(|source| MetaError::Json { path: path.display().to_string(), source })?;
        text.push(b'\n');
        let unfinished = directory.join("meta.json.part");
        std::fs::write(&unfinished, text).map_err(io)?;
        std::fs::rename(&unfinished, &path).map_err(io)
    }

    /// Reads `meta.json` from `directory`; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the file exists but cannot be read.
    pub fn read(directory: &Path) -> Result<Option<Meta>, MetaError> {
        let path = directory.join("meta.json");
        let name = || path.display().to_string();
        let text = match crate::files::read_regular(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(MetaError::Io { path: name(), source }),
        };
        let meta: Meta = serde_json::from_slice(&text).map_err(|source| MetaError::Json { path: name(), source })?;
        if meta.version > META_VERSION {
            return Err(MetaError::Version { path: name(), found: meta.version });
        }
        Ok(Some(meta))
    }
}
