//! Storage that all threads of one machine share: a few words, which the algorithms share out among themselves. A `static`
//! would not do, as one process runs many simulations.

use crate::Atomic;

/// How many words a machine has.
pub const WORDS: usize = 3;

/// Which algorithm uses which word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `sync`: the table of monitors of the lock `1spinner`.
    Monitors,
    /// `sync`: the counters of the lock `1spinner-paper`.
    PaperMonitors,
    /// The contract suite's own.
    Trial,
}

/// Words of a machine, cells of its own kind: all zero when it starts, and there as long as it is.
#[repr(C)]
#[derive(Debug)]
pub struct Shared<C> {
    words: [C; WORDS],
}

impl<C> Shared<C> {
    /// Storage of a new machine, whose cells hold zero: for machines.
    pub const fn new(words: [C; WORDS]) -> Self {
        Shared { words }
    }

    /// The word of `user`.
    #[inline(always)]
    pub fn word(&self, user: Use) -> &C
    where
        C: Atomic<usize>,
    {
        &self.words[user as usize]
    }
}
