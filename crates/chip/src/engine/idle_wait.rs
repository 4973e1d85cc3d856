//! Idle waits: waits during which the CPU stands still, with a monitor on a line or halted.
//!
//! MONITOR, the check of the value, and MWAIT are separate steps. [`Engine::arm`] makes the running
//! thread watch the line, which its core holds as a sharer. Whatever takes the line away, or a
//! sibling's store to it, disarms the monitor again at any later time. [`Engine::begin_idle_wait`]
//! is MWAIT: it does nothing if the monitor is disarmed; otherwise the wait goes through these
//! phases:
//!
//! | phase | ends |
//! | --- | --- |
//! | entering | after the price of the entry, whatever happens in the meantime |
//! | still | when the line is lost, at a deadline or time limit, by an interrupt, or spuriously
//! (`wait.spurious`) |
//! | leaving | after the price of the exit; the guest then reads the cell again |
//!
//! A halted CPU goes through the same phases without a line: an interrupt ends the wait.

/// How the CPU stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    /// In a monitor, at this depth (1 is the shallowest).
    Monitor(u32),
    Halted,
}

/// The phase of an idle wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Entering,
    Still,
    Leaving,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWait {
    pub(crate) still: Still,
    pub(crate) phase: Phase,
    /// The moment at which the wait ends by itself: a deadline, a limit, or a spurious end.
    pub(crate) until: u64,
    /// The cycles from the wait's end to the next instruction.
    pub(crate) exit: u64,
    /// Whether something ended the wait while it was still entering.
    pub(crate) woken: bool,
    /// The part of the exit that the core's change of mode took.
    pub(crate) mode: u64,
}

impl IdleWait {
    pub(crate) const NONE: IdleWait =
        IdleWait { still: Still::Halted, phase: Phase::Leaving, until: u64::MAX, exit: 0, woken: false, mode: 0 };
}

/// The prices and limits of an idle wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) still: Still,
    pub(crate) enter: u64,
    pub(crate) exit: u64,
    /// The moment at which the wait ends by itself.
    pub(crate) until: u64,
}
