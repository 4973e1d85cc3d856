//! How a guest thread's computation goes on beside its siblings and its interrupts.

use super::share::Demand;

/// What a thread asks of its core, and for how long it stands still.
#[derive(Default)]
pub(crate) struct Pace {
    /// What the thread asks of its core.
    pub(crate) demand: Demand,
    /// Its computation goes on at this moment, if that is not past: its core changes its mode, or a handler runs.
    pub(crate) still_until: u64,
    /// Of what it has still to stand still, what handlers take: they come last.
    pub(crate) handling: u64,
    /// Of its computation under way, what interrupts have taken.
    pub(crate) stolen: u64,
    /// Of its computation under way, what changes of mode have taken.
    pub(crate) changing: u64,
    /// Cycles for which it must stand still before its next operation.
    pub(crate) owed: u64,
}

impl Pace {
    /// The computation stands still for so long, behind what it stands still for already.
    pub(crate) fn put_off(&mut self, now: u64, cycles: u64) {
        if self.still_until <= now {
            self.handling = 0;
        }
        self.still_until = self.still_until.max(now) + cycles;
    }
}
