//! The state of one thread during the walk: what the thread waits for, and what its CPU time says
//! about a wait that the recorder could not look into.

use super::interval::Entry;
use baton_trace::analysis::{OffInWait, has_slept};
use baton_trace::{How, SiteId, Ticks};
use baton_units::Nanos;

/// A wait for something other than a lock.
#[derive(Clone, Copy)]
pub(super) struct OtherWait {
    pub(super) object: Option<usize>,
    pub(super) since: Ticks,
    pub(super) site: SiteId,
    /// For a wait on a condition variable: whether the thread has released the mutex. The wait
    /// begins only then.
    pub(super) released: bool,
}

#[derive(Default)]
pub(super) struct ThreadState {
    /// The locks that the thread waits for.
    pub(super) waits: Vec<usize>,
    pub(super) other: Vec<(super::Doing, OtherWait)>,
    /// Waits that are suspended while the thread runs a task, one entry per running task.
    pub(super) stopped: Vec<Option<(super::Doing, OtherWait)>>,
    /// The number of locks that the thread holds.
    pub(super) holds: u32,
    /// A wait that is over but not yet classified, because the next event may still tell whether
    /// the thread slept; and the CPU time at its beginning.
    pub(super) undecided: Option<(super::Interval, u64)>,
    pub(super) off: OffInWait,
}

impl ThreadState {
    /// Removes the thread's latest wait for `lock`.
    pub(super) fn waits_no_longer(&mut self, lock: usize) {
        if let Some(at) = self.waits.iter().rposition(|other| *other == lock) {
            self.waits.remove(at);
        }
    }

    /// The number of the thread's intervals that are open.
    pub(super) fn open(&self) -> u32 {
        self.holds + (self.waits.len() + self.other.len()) as u32
    }
}

/// The way of waiting, if the recorder saw it.
pub(super) fn entry(how: How) -> Option<Entry> {
    match (how.known, how.slept) {
        (true, true) => Some(Entry::Sleeping),
        (true, false) => Some(Entry::Spinning),
        (false, _) => None,
    }
}

/// The way of waiting, inferred from the CPU time used during the wait.
pub(super) fn entry_by_cpu_time(wait: Nanos, cpu: u64) -> Entry {
    if has_slept(wait, Nanos(cpu)) { Entry::Sleeping } else { Entry::Spinning }
}
