//! What is kept of a thread's time and of each clock's, for energy.

use crate::power::STATES;
use std::collections::BTreeMap;

/// What has been put down.
#[derive(Default)]
pub(crate) struct Meter {
    /// By clock, in hertz.
    pub(crate) by_clock: BTreeMap<u64, [i64; STATES]>,
}

/// What the cycle stack does not tell apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finer {
    /// Of the time spinning, the waits that are over and had PAUSE between their tries.
    pub(crate) paused: u64,
    /// The time spinning when such a wait began; [`u64::MAX`]: none is under way.
    pub(crate) pausing: u64,
    /// Still, by depth, and halted.
    pub(crate) still: [u64; 4],
    /// Since when it stands still.
    pub(crate) still_since: u64,
    /// What has been put down.
    pub(crate) settled: [u64; STATES],
}

impl Finer {
    pub(crate) const NONE: Finer =
        Finer { paused: 0, pausing: u64::MAX, still: [0; 4], still_since: 0, settled: [0; STATES] };
}
