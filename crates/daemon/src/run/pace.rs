//! When a run waits, and for what.

use crate::core::LOOK_NS;

/// When a run waits, and for what.
pub(super) struct Pace {
    /// The time to the next look, in nanoseconds.
    pub(super) patience: u64,
    /// The rings, each of which ends the wait for the next look when it is half full.
    pub(super) half_full: Vec<libc::pollfd>,
    /// Whether a program may have ended since its exit code was last asked for.
    pub(super) may_have_ended: bool,
    /// Number of checks of masks, CPUs and the watchdog.
    pub(super) checks: u64,
}

impl Pace {
    pub(super) fn new(half_full: Vec<libc::pollfd>) -> Pace {
        Pace { patience: LOOK_NS, half_full, may_have_ended: true, checks: 0 }
    }
}
