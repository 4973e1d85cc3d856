//! The scale of a program.

use thiserror::Error;

/// The size of a program's input, and the size of the pieces in which threads take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The size of the input.
    pub size: u32,
    /// The size of a piece.
    pub grain: u32,
    /// Seed of the input.
    pub seed: u64,
}

impl Scale {
    pub(super) const fn usual(size: u32, grain: u32) -> Scale {
        Scale { size, grain, seed: 1 }
    }
}

/// A scale that a program cannot have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("program `{program}`: {what} is {found}; expected {expected}")]
pub struct BadScale {
    /// The name of the program.
    pub program: &'static str,
    /// Size or grain, and what it counts.
    pub what: String,
    /// The value that was asked for.
    pub found: u32,
    /// The values that the program can have.
    pub expected: String,
}
