//! The time between two events of a thread.

/// The time between two events of a thread that did not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Ticks of the gap that recording took.
    pub(crate) pause: u64,
    /// Ticks for reading the CPU time at the beginning, after a wait for a lock. A replay that
    /// includes recording charges them after its own waits.
    pub(crate) read: u64,
    /// Whether the gap ends at a release, or begins at one. A release is stamped first, then
    /// written down, and then carried out.
    pub(crate) to_release: bool,
    pub(crate) from_release: bool,
    /// Cycles of lock operations in the gap, which the simulation charges again.
    pub(crate) priced: u64,
    /// Cycles for waking a sleeper at the beginning, if one was asleep; the trace does not say.
    pub(crate) woke: u64,
    /// The lock whose acquisition the gap follows, if the lock was last held elsewhere.
    pub(crate) after_foreign: Option<u32>,
    /// If the gap is a whole hold, the class of the hold.
    pub(crate) class: Option<u32>,
    /// Ticks of the gap off the CPU: asleep, and ready to run. `gaps` fills them in.
    pub(crate) asleep: u64,
    pub(crate) ready: u64,
    /// The part of `asleep` that lies in `pause`: the recorder slept, and not the program.
    pub(crate) recorder: u64,
}
