//! Idle waits: waits in which the CPU stands still, with a monitor on a line or halted.
//!
//! MONITOR, the look at the value and MWAIT are three separate steps. [`Engine::arm`] has the
//! running thread watch the line that its core holds as a sharer; whatever takes the line away, or
//! a sibling's store to it, disarms the monitor again, at any time from then on.
//! [`Engine::begin_monitor`] is MWAIT: it does nothing if the monitor is disarmed. Otherwise the
//! idle wait passes through these phases:
//!
//! | phase | ends |
//! | --- | --- |
//! | entering | after the entry's price, whatever happens meanwhile |
//! | still | when the line is lost or written, at a deadline or time limit, with an interrupt, or for no reason (`wait.spurious`) |
//! | leaving | after the exit's price; the guest then looks at the cell again |
//!
//! A halted CPU is the same without a line: an interrupt ends it.

/// How the CPU stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    /// With a monitor, at this depth (1 is the shallowest).
    Monitor(u32),
    /// Halted.
    Halted,
}

/// The phase of an idle wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Entering,
    Still,
    Leaving,
}

/// An idle wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleWait {
    pub(crate) still: Still,
    pub(crate) phase: Phase,
    /// The time at which the wait ends by itself: a deadline, a limit, or a wake-up for
    /// no reason (`wait.spurious`).
    pub(crate) until: u64,
    /// The core's cycles from the end of the wait to the thread's next instruction.
    pub(crate) exit: u64,
    /// Whether something has ended the wait while the CPU was still entering it.
    pub(crate) woken: bool,
    /// The time that the core takes to change its mode, before the exit.
    pub(crate) mode: u64,
}

impl IdleWait {
    pub(crate) const NONE: IdleWait =
        IdleWait { still: Still::Halted, phase: Phase::Leaving, until: u64::MAX, exit: 0, woken: false, mode: 0 };
}

/// What an idle wait costs and how long it may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) still: Still,
    pub(crate) enter: u64,
    pub(crate) exit: u64,
    /// The time at which the wait ends by itself.
    pub(crate) until: u64,
}
