//! How a guest thread's computation proceeds beside its siblings and interrupts.

use super::share::Demand;

/// What a thread demands of its core, and for how long the thread stands still.
#[derive(Default)]
pub(crate) struct Pace {
    pub(crate) demand: Demand,
    /// The moment until which the computation stands still, because the core changes its mode or a
    /// handler runs. A past moment has no effect.
    pub(crate) still_until: u64,
    /// The cycles of the remaining standstill that handlers take. They are its last cycles.
    pub(crate) handling: u64,
    /// The cycles that interrupts have taken from the current computation.
    pub(crate) stolen: u64,
    /// The cycles that changes of mode have taken from the current computation.
    pub(crate) changing: u64,
    /// The cycles for which the thread must stand still before its next operation.
    pub(crate) owed: u64,
}

impl Pace {
    /// Lets the computation stand still for `cycles`, after any standstill that it is already in.
    pub(crate) fn put_off(&mut self, now: u64, cycles: u64) {
        if self.still_until <= now {
            self.handling = 0;
        }
        self.still_until = self.still_until.max(now) + cycles;
    }
}
