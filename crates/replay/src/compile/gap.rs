//! The time between two events of a thread.

/// The time between two events of a thread that did not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Ticks of the gap that the recorder took.
    pub(crate) pause: u64,
    /// Ticks that reading the CPU time took at the beginning of the gap, after a wait for a lock. A
    /// replay that includes recording charges this time after its own waits.
    pub(crate) read: u64,
    /// Whether the gap ends at a release (`from_release`: begins at one). The recorder first reads
    /// the time of a release, then writes it down; then the lock is released.
    pub(crate) to_release: bool,
    pub(crate) from_release: bool,
    /// Cycles of lock operations in the gap. The simulation charges them again, so they are no
    /// work.
    pub(crate) priced: u64,
    /// Cycles for waking a sleeper at the beginning of the gap. Whether a waiter was asleep, the
    /// trace does not say.
    pub(crate) woke: u64,
    /// The lock that the thread took just before the gap, if another core had held it last.
    pub(crate) after_foreign: Option<u32>,
    /// If the gap is a whole hold, the class of the hold.
    pub(crate) class: Option<u32>,
    /// Ticks of the gap in which the thread was asleep (`ready`: ready to run without a CPU).
    /// `gaps` fills both in.
    pub(crate) asleep: u64,
    pub(crate) ready: u64,
    /// The part of `asleep` that lies in `pause`: the recorder slept in it, and not the program.
    pub(crate) recorder: u64,
}
