//! The time of CPUs and threads as energy needs it.

use crate::power::STATES;
use std::collections::BTreeMap;

/// The time of threads on CPUs that has been added up so far.
#[derive(Default)]
pub(crate) struct Meter {
    /// For each clock in hertz, the cycles in each power state.
    pub(crate) by_clock: BTreeMap<u64, [i64; STATES]>,
}

/// The parts of a thread's time that its cycle stack does not tell apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finer {
    /// The time spent in spinning waits with PAUSE that are over.
    pub(crate) paused: u64,
    /// The thread's time spent spinning when its current wait with PAUSE began; [`u64::MAX`] if it
    /// is in none.
    pub(crate) pausing: u64,
    /// The time for which the thread's CPU stood still: with a monitor at depths 1 to 3, and
    /// halted.
    pub(crate) still: [u64; 4],
    /// The time since which the thread's CPU stands still.
    pub(crate) still_since: u64,
    /// The thread's time, by power state, that is in the sums of [`Meter`] already.
    pub(crate) settled: [u64; STATES],
}

impl Finer {
    pub(crate) const NONE: Finer =
        Finer { paused: 0, pausing: u64::MAX, still: [0; 4], still_since: 0, settled: [0; STATES] };
}
