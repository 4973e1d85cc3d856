//! One thread as the walk sees it: what it waits for, and what its CPU time says about a wait that the recorder could not see into.

use super::interval::Entry;
use baton_trace::{How, SiteId, Ticks};
use baton_units::Nanos;

/// A wait for a lock.
#[derive(Clone, Copy)]
pub(super) struct LockWait {
    pub(super) lock: usize,
    pub(super) since: Ticks,
    pub(super) site: SiteId,
    /// CPU time that was recorded last while it waited.
    pub(super) cpu_before: Option<u64>,
}

/// A wait for something else.
#[derive(Clone, Copy)]
pub(super) struct OtherWait {
    pub(super) object: Option<usize>,
    pub(super) since: Ticks,
    pub(super) site: SiteId,
    /// A condition wait truly begins when its mutex is released.
    pub(super) released: bool,
}

/// A thread's state.
#[derive(Default)]
pub(super) struct ThreadState {
    pub(super) waits: Vec<LockWait>,
    pub(super) other: Vec<(super::Doing, OtherWait)>,
    /// How many locks it holds.
    pub(super) holds: u32,
    /// A wait that is over, but of which the next event may still tell whether it slept; and CPU time at its beginning.
    pub(super) undecided: Option<(super::Interval, u64)>,
}

impl ThreadState {
    /// Intervals that are open.
    pub(super) fn open(&self) -> u32 {
        self.holds + (self.waits.len() + self.other.len()) as u32
    }
}

/// What is said of a wait whose inside the recorder saw.
pub(super) fn entry(how: How) -> Option<Entry> {
    match (how.known, how.slept) {
        (true, true) => Some(Entry::Sleeping),
        (true, false) => Some(Entry::Spinning),
        (false, _) => None,
    }
}

/// What CPU time says of one that it did not. As the analysis has it: more than 2 µs and a tenth of the wait are missing.
pub(super) fn entry_by_cpu_time(wait: Nanos, cpu: u64) -> Entry {
    let off = wait.0.saturating_sub(cpu);
    if off > 2_000 && off > wait.0 / 10 { Entry::Sleeping } else { Entry::Spinning }
}
