//! One thread as the walk sees it: what it waits for, and what its CPU time says about a wait that the recorder could not see into.

use super::interval::Entry;
use baton_trace::analysis::has_slept;
use baton_trace::{How, SiteId, Ticks};
use baton_units::Nanos;

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
    /// The locks that it waits for.
    pub(super) waits: Vec<usize>,
    pub(super) other: Vec<(super::Doing, OtherWait)>,
    /// Waits that stand still while it runs a task, by task.
    pub(super) stopped: Vec<Option<(super::Doing, OtherWait)>>,
    /// How many locks it holds.
    pub(super) holds: u32,
    /// A wait that is over, but of which the next event may still tell whether it slept; and CPU time at its beginning.
    pub(super) undecided: Option<(super::Interval, u64)>,
}

impl ThreadState {
    /// Its latest wait for that lock is over.
    pub(super) fn waits_no_longer(&mut self, lock: usize) {
        if let Some(at) = self.waits.iter().rposition(|other| *other == lock) {
            self.waits.remove(at);
        }
    }

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

/// What CPU time says of one that it did not.
pub(super) fn entry_by_cpu_time(wait: Nanos, cpu: u64) -> Entry {
    if has_slept(wait, Nanos(cpu)) { Entry::Sleeping } else { Entry::Spinning }
}
