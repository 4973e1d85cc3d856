//! Why a store cannot be used.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The error of a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or folder cannot be read or written. Rows that the store had before stay in it.
    #[error("{}: cannot be {done}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What could not be done with it: `read`, `written`, …
        done: &'static str,
        /// The cause.
        error: io::Error,
    },
    /// The folder does not exist, has no `store.json`, or has files that belong to no store.
    #[error("{}: is no store: {why}", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The store has another form, version, command or columns, or a sweep adds to it while
    /// failures are to be removed.
    #[error("{}: {why}", path.display())]
    Other {
        /// The folder.
        path: PathBuf,
        /// The difference, or what else is in the way.
        why: String,
    },
    /// A file of the store is damaged.
    #[error("{}: damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A column that the store does not have.
    #[error("{}: unknown column `{name}`; expected one of {}", path.display(), known.join(", "))]
    Column {
        /// The folder.
        path: PathBuf,
        /// The name.
        name: String,
        /// The columns that there are.
        known: Vec<String>,
    },
    /// A condition that cannot be computed for a row, such as a comparison of a text with a number.
    #[error("{0}")]
    Condition(String),
}

impl StoreError {
    /// An error of the system, with the file that it concerns.
    pub(crate) fn io(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |error| StoreError::Io { path, done, error }
    }

    /// Whether other input avoids the error: another store, column or condition.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            StoreError::NoStore { .. }
                | StoreError::Other { .. }
                | StoreError::Column { .. }
                | StoreError::Condition(_)
        )
    }
}
