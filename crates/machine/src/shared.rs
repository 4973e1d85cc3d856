//! Storage that all threads of one machine share: a word for each algorithm that needs one. A
//! `static` would not do, because one process runs many simulations.

use crate::Atomic;

/// Number of words of a machine.
pub const WORDS: usize = 3;

/// The algorithm that owns a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `sync`: the table of monitors of the lock `1spinner`.
    Monitors,
    /// `sync`: the counters of the lock `1spinner-paper`.
    PaperMonitors,
    /// The word for tests of the contract suite.
    Trial,
}

/// The words, in atomic cells of the machine's own kind. They are zero when the machine starts, and
/// live as long as it does.
#[repr(C)]
#[derive(Debug)]
pub struct Shared<C> {
    words: [C; WORDS],
}

impl<C> Shared<C> {
    /// Storage of a new machine, from cells that hold zero. For machines only.
    pub const fn new(words: [C; WORDS]) -> Self {
        Shared { words }
    }

    /// Returns the word of `user`.
    #[inline(always)]
    pub fn word(&self, user: Use) -> &C
    where
        C: Atomic<usize>,
    {
        &self.words[user as usize]
    }
}
