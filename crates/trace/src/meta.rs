//! `meta.json`: what the launcher knows about a run. The events files stand without it; what is needed to read events (clock,
//! modules, sites, names) is in them, as a program may be killed at any moment.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Longest `meta.json` that is read: beside the run it may hold sentences and other programs' notes, never events.
const MOST_BYTES: u64 = 64 << 20;

/// Version of `meta.json`.
pub const META_VERSION: u32 = 1;

/// The run, as its launcher saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Meta {
    /// [`META_VERSION`].
    pub version: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Directory in which it ran.
    pub directory: String,
    /// Name and version of the recorder.
    pub recorder: String,
    /// Wall clock at the start, nanoseconds since 1970.
    pub started_realtime_ns: u64,
    /// From start to exit.
    pub elapsed_ns: u64,
    /// Exit status, if the program ended by itself.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub exit_signal: Option<i32>,
    /// The machine.
    pub host: Host,
    /// The lock that served its mutexes, if they were replaced.
    pub lock: Option<String>,
    /// What the recorder could not see, in sentences for people.
    pub unseen: Vec<String>,
    /// Anything else, by name.
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// The machine a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Host {
    /// Processor model.
    pub processor: String,
    /// Hardware threads that the program could use.
    pub cpus: u32,
    /// Hardware threads a core.
    pub threads_per_core: u32,
    /// NUMA nodes.
    pub nodes: u32,
    /// Kernel name and version.
    pub kernel: String,
    /// C library and version.
    pub libc: String,
}

/// Why `meta.json` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no valid `meta.json`.
    #[error("{path}: {source}")]
    Json {
        /// The file.
        path: String,
        /// Line, column and what was expected.
        source: serde_json::Error,
    },
    /// A newer version than this program knows.
    #[error("{path}: version {found}, but this program reads up to {META_VERSION}")]
    Version {
        /// The file.
        path: String,
        /// The version found.
        found: u32,
    },
}

impl Meta {
    /// Writes `DIR/meta.json`, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
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

    /// Reads `DIR/meta.json`; `None` if there is none.
    ///
    /// # Errors
    /// If it is there and cannot be read.
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
