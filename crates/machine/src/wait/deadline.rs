//! Deadlines of waits, and how a wait ends.

use crate::units::Nanos;

/// The clock of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// Steady time since an unspecified start.
    #[default]
    Monotonic,
    /// The time of day, which can be set.
    Realtime,
}

/// The moment after which a wait gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Absolute time in nanoseconds.
    pub at: Nanos,
    /// The clock of `at`.
    pub clock: Clock,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum WaitResult<T> {
    /// The cell no longer held the value. Contains what it held, read with acquire ordering.
    Changed(T),
    /// The deadline passed while the cell held the value.
    Expired,
}

/// State of one spinning wait, for a machine with a watch on waits that only spin
/// (`native/stall.rs`).
#[derive(Debug, Default)]
pub struct Spinning {
    /// The thread's CPU time when this wait last checked the watch on spins; `None` before the
    /// first check that finds the watch on.
    pub(crate) seen: Option<Nanos>,
}
