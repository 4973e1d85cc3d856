//! How long a woken thread has run since its wait ended.

use crate::clock::Ticks;
use baton_units::Nanos;

/// A woken thread that runs for longer may have found something to do.
pub(super) const BRIEF: Nanos = Nanos(5_000);

/// The time that a thread has run, without waits and without time off its CPU.
#[derive(Clone, Copy, Default)]
pub(super) struct Ran {
    /// The time up to `from`.
    time: Ticks,
    /// Since when the thread runs; `None` while it waits, or has no CPU.
    from: Option<Ticks>,
}

impl Ran {
    /// A thread that begins to run.
    pub(super) fn from(now: Ticks) -> Ran {
        Ran { time: Ticks(0), from: Some(now) }
    }

    /// The thread goes on to run, if it did not run.
    pub(super) fn goes_on(&mut self, now: Ticks) {
        self.from = self.from.or(Some(now));
    }

    /// The thread begins to wait, or loses its CPU.
    pub(super) fn stops(&mut self, now: Ticks) {
        self.time += self.from.take().map_or(Ticks(0), |from| now.since(from));
    }

    /// Returns how long the thread has run up to its last stop.
    pub(super) fn time(&self) -> Ticks {
        self.time
    }
}
