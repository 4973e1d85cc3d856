//! Where the daemon sees what threads do.
//!
//! | file | holds |
//! | --- | --- |
//! | [`switches`] | perf's records of context switches: exact times, read every few milliseconds |
//! | [`poll`] | looks at `/proc` every few milliseconds: what happens between two looks is not seen |

mod poll;
mod switches;

pub(crate) use poll::{Poll, snapshot};
pub(crate) use switches::Switches;

use crate::sys::ring::Record;

/// A source of what happens to threads.
pub(crate) enum Source {
    Switches(Switches),
    Poll(Poll),
}

impl Source {
    /// The name for reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Source::Switches(_) => "context-switch records",
            Source::Poll(_) => "/proc",
        }
    }

    /// Whether nothing is seen of threads on one of these CPUs.
    pub(crate) fn lacks(&self, cpus: &[u32]) -> bool {
        match self {
            Source::Switches(switches) => switches.lacks(cpus),
            Source::Poll(_) => false,
        }
    }

    /// Returns what happened since the last call, in order of time.
    pub(crate) fn look(&mut self, now: u64) -> Vec<Record> {
        match self {
            Source::Switches(switches) => switches.look(now),
            Source::Poll(poll) => poll.look(now),
        }
    }

    /// Takes back what a look returned, so that the next one need not ask for memory.
    pub(crate) fn give_back(&mut self, records: Vec<Record>) {
        if let Source::Switches(switches) = self {
            switches.give_back(records);
        }
    }

    /// Returns what the kernel can be asked for at a wait: that a ring is half full, and must be read.
    pub(crate) fn half_full(&self) -> Vec<libc::pollfd> {
        match self {
            Source::Switches(switches) => switches.half_full(),
            Source::Poll(_) => Vec::new(),
        }
    }

    /// Number of records that were lost since the last call. The states of all threads must be read
    /// anew then.
    pub(crate) fn lost(&mut self) -> u64 {
        match self {
            Source::Switches(switches) => switches.lost(),
            Source::Poll(_) => 0,
        }
    }
}
