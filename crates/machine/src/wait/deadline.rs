//! When a wait gives up, how it ended, and what is kept of it meanwhile.

use crate::units::Nanos;

/// Which clock a deadline is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// Steady time since some start.
    #[default]
    Monotonic,
    /// The time of day, which can be set.
    Realtime,
}

/// The moment after which a wait gives up: `at` nanoseconds on `clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Absolute time in nanoseconds.
    pub at: Nanos,
    /// On this clock.
    pub clock: Clock,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum WaitResult<T> {
    /// The cell no longer held the value; this is what it held, read with acquire ordering.
    Changed(T),
    /// The deadline passed while the cell held the value.
    Expired,
}

/// What a machine that watches waits which only spin keeps of one of them.
#[derive(Debug, Default)]
pub struct Spinning {
    /// The thread's CPU time when it last looked at the watch.
    pub(crate) seen: Option<Nanos>,
}
