//! Stalls of holds: those that a replay draws, and those that the simulated machine makes itself.

use super::world::unit;
use crate::program::Stalls;
use baton_chip::act;
use baton_units::Cycles;
use std::cell::RefCell;

/// The handlers of interrupts that stretched holds during a run, in cycles.
#[derive(Default)]
pub(crate) struct Interrupted(RefCell<Vec<u64>>);

/// A hold as long as its thread does nothing but work in it.
#[derive(Clone, Copy)]
pub(crate) struct OnlyWork {
    /// For how long the thread had been in the kernel when the hold began.
    before: Cycles,
}

impl OnlyWork {
    /// A hold of the calling guest begins.
    pub(crate) fn begins() -> OnlyWork {
        OnlyWork { before: act::kernel_time() }
    }
}

impl Interrupted {
    /// A hold of the calling guest ends. A thread that only worked was in the kernel for interrupts alone.
    pub(crate) fn ends(&self, hold: Option<OnlyWork>) {
        let Some(hold) = hold else { return };
        let stolen = act::kernel_time() - hold.before;
        if stolen != Cycles(0) {
            self.0.borrow_mut().push(stolen.0);
        }
    }

    /// Returns what was noted, and forgets it.
    pub(crate) fn take(&self) -> Vec<u64> {
        self.0.take()
    }
}

/// Draws the stall of a hold that is about to end; for most holds it is zero.
pub(crate) fn draw(stalls: &Stalls, draws: &mut u64) -> Cycles {
    if stalls.cycles.is_empty() {
        return Cycles(0);
    }
    let place = (unit(draws) * stalls.holds.max(1) as f64) as usize;
    Cycles(stalls.cycles.get(place).copied().unwrap_or(0))
}
