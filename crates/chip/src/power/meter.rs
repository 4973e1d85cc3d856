//! The energy account's record of a thread's time and of the time at each clock.

use crate::power::STATES;
use std::collections::BTreeMap;

/// The time that has been settled.
#[derive(Default)]
pub(crate) struct Meter {
    /// For each clock in hertz, the time in each state.
    pub(crate) by_clock: BTreeMap<u64, [i64; STATES]>,
}

/// Times that the cycle stack does not distinguish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finer {
    /// The part of the spinning time in finished waits with PAUSE between their tries.
    pub(crate) paused: u64,
    /// The spinning time at the beginning of such a wait, or [`u64::MAX`] if none is under way.
    pub(crate) pausing: u64,
    /// Time standing still: at the three depths of a monitor, and halted.
    pub(crate) still: [u64; 4],
    /// When the current standstill began.
    pub(crate) still_since: u64,
    /// The time that has been settled, by state.
    pub(crate) settled: [u64; STATES],
}

impl Finer {
    pub(crate) const NONE: Finer =
        Finer { paused: 0, pausing: u64::MAX, still: [0; 4], still_since: 0, settled: [0; STATES] };
}
