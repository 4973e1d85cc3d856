//! Why a store cannot be used.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The error of a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file or folder cannot be read or written. What was kept before is kept.
    #[error("{}: cannot be {done}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What could not be done with it: `read`, `written`, …
        done: &'static str,
        /// The cause.
        error: io::Error,
    },
    /// The folder holds other files.
    #[error("{}: is no store: {why}", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The store has another form, version, command or columns.
    #[error("{}: {why}", path.display())]
    Other {
        /// The folder.
        path: PathBuf,
        /// The difference.
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
    /// A condition that has no value for a row.
    #[error("{0}")]
    Condition(String),
}

impl StoreError {
    /// An error of the system, with the file that it concerns.
    pub(crate) fn io(path: &Path, done: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |error| StoreError::Io { path, done, error }
    }

    /// Whether the user can mend the error: another store, another column.
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
