//! What the operating system keeps of a guest thread: where it may run, and what its CPU still wants of it.

use super::app::App;
use super::signal::Signals;
use crate::base::thread::ThreadId;
use baton_sched::{Affinity, Nice};

/// Handlers under way on a thread's CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handler {
    /// Accesses to come.
    pub(crate) left: u32,
    /// Cycles of their code, which come last.
    pub(crate) code: u64,
}

/// A thread as the operating system knows it.
pub(crate) struct Task {
    /// Its application.
    pub(crate) app: App,
    /// How much of a CPU it gets beside others.
    pub(crate) nice: Nice,
    /// CPUs that it may run on.
    pub(crate) affinity: Affinity,
    /// It has run before.
    pub(crate) has_run: bool,
    /// The CPU is wanted by another thread: give it up before the next operation.
    pub(crate) preempt: bool,
    /// It is to leave the CPU; otherwise `preempt` is only for what it owes.
    pub(crate) leaves: bool,
    /// Cycles of interrupt handlers that it has yet to pay, before its next operation.
    pub(crate) due: u64,
    /// So many handlers are among them that touch memory (`os.interrupt_lines`, `os.queue_lines`).
    pub(crate) handlers: u32,
    /// The handlers that run now.
    pub(crate) handler: Handler,
    /// Spin locks of the kernel that it holds or waits for: it cannot be preempted.
    pub(crate) holds: u32,
    /// The CPU is wanted as soon as it holds none.
    pub(crate) wanted: bool,
    /// Number of its sleep in a futex queue, so that a wake-up cannot meet a later one.
    pub(crate) futex_sleep: u64,
    /// Woken between its entry into a futex queue and its sleep.
    pub(crate) woken_early: bool,
    /// Threads that wait for its end.
    pub(crate) joiners: Vec<ThreadId>,
    /// It is to look outside of the kernel's work whether it was killed or has a signal that is not blocked.
    pub(crate) signalled: bool,
    /// What it has of signals.
    pub(crate) signals: Signals,
    /// It was killed: it ends at its next operation, unless it is shielded.
    pub(crate) killed: bool,
    /// It does work of the kernel that it ends first, one within another.
    pub(crate) shields: u32,
    /// It was killed, and does what comes before its end.
    pub(crate) dying: bool,
    /// It was killed, and its coroutine runs no more.
    pub(crate) dead: bool,
}

impl Task {
    /// A thread that may run on these CPUs and has not run yet.
    pub(crate) fn new(app: App, nice: Nice, affinity: Affinity) -> Task {
        Task {
            app,
            nice,
            affinity,
            has_run: false,
            preempt: false,
            leaves: false,
            due: 0,
            handlers: 0,
            handler: Handler::default(),
            holds: 0,
            wanted: false,
            futex_sleep: 0,
            woken_early: false,
            joiners: Vec::new(),
            signalled: false,
            signals: Signals::default(),
            killed: false,
            shields: 0,
            dying: false,
            dead: false,
        }
    }

    /// What it sleeps or waits for is to end, as it was killed or has a signal to look at.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.signalled && self.signals.uninterruptible == 0
    }

    /// It is outside of the kernel's work, and was killed or has a signal to look at.
    pub(crate) fn attends(&self) -> bool {
        self.signalled && self.shields == 0 && (self.killed || self.signals.in_call == 0)
    }

    /// Handlers have run on its account, or are to, that it has yet to pay for.
    pub(crate) fn is_due(&self) -> bool {
        self.due != 0 || self.handlers != 0
    }
}
