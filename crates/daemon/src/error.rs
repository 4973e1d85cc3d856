//! Why a run cannot begin or go on.

use baton_host::BadInput;
use std::fmt;

/// Why a run cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user can correct it.
    #[error("{0}")]
    Bad(BadInput),
    /// What was tried failed.
    #[error("{what}")]
    Failed {
        what: String,
        #[source]
        cause: std::io::Error,
    },
}

impl From<BadInput> for Error {
    fn from(bad: BadInput) -> Error {
        Error::Bad(bad)
    }
}

impl Error {
    /// For `map_err`: says what was tried.
    pub(crate) fn because(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Error {
        move |cause| Error::Failed { what: what.to_string(), cause }
    }
}
