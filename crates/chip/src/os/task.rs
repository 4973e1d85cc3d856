//! The operating system's record of a guest thread: where it may run, and what its CPU demands of
//! it.

use super::app::App;
use super::signal::Signals;
use crate::base::thread::ThreadId;
use baton_sched::{Affinity, Nice};

/// The interrupt handlers under way on a thread's CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handler {
    /// The number of memory accesses that the handlers have still to make.
    pub(crate) left: u32,
    /// The cycles of the handlers' code, which come last.
    pub(crate) code: u64,
}

/// The operating system's record of a thread.
pub(crate) struct Task {
    pub(crate) app: App,
    /// The nice value, which sets the thread's share of a CPU.
    pub(crate) nice: Nice,
    /// The CPUs on which the thread may run.
    pub(crate) affinity: Affinity,
    /// Whether the thread has run before.
    pub(crate) has_run: bool,
    /// Whether the thread must act before its next operation, because its CPU is wanted, it owes
    /// time for handlers, it was killed, or it has a signal.
    pub(crate) preempt: bool,
    /// Whether the thread must leave the CPU, because another thread wants the CPU. If it is false,
    /// `preempt` is set for another reason.
    pub(crate) leaves: bool,
    /// Cycles of interrupt handlers that the thread must still pay for before its next operation.
    pub(crate) due: u64,
    /// The number of the handlers in `due` that access memory (`os.interrupt_lines`,
    /// `os.queue_lines`).
    pub(crate) handlers: u32,
    /// The handlers that run now.
    pub(crate) handler: Handler,
    /// The number of kernel spin locks that the thread holds or waits for. With any, it cannot be
    /// preempted.
    pub(crate) holds: u32,
    /// Whether the CPU is wanted as soon as the thread holds no spin lock of the kernel.
    pub(crate) wanted: bool,
    /// The number of the thread's futex sleep, so that a late wake-up does not end a later sleep.
    pub(crate) futex_sleep: u64,
    /// Whether the thread was woken between its entry into a futex queue and its sleep.
    pub(crate) woken_early: bool,
    /// The threads that wait for this thread's end.
    pub(crate) joiners: Vec<ThreadId>,
    /// Whether the thread must check, outside of kernel work, if it was killed or has a signal that
    /// is not blocked.
    pub(crate) signalled: bool,
    pub(crate) signals: Signals,
    /// Whether the thread was killed: it ends at its next operation, unless it is shielded.
    pub(crate) killed: bool,
    /// The nesting depth of kernel work that the thread completes before it ends.
    pub(crate) shields: u32,
    /// Whether the thread is ending, because it was killed or has returned, and calls its requests
    /// to devices back first.
    pub(crate) dying: bool,
    /// Whether the thread was killed and its coroutine will never run again.
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

    /// Whether the thread's sleep or wait must end, because it was killed or has a signal.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.signalled && self.signals.uninterruptible == 0
    }

    /// Whether the thread must end now, because it was killed and is outside of kernel work.
    #[inline]
    pub(crate) fn dies(&self) -> bool {
        self.killed && self.shields == 0
    }

    /// Whether the thread must now see to its death or its signals: it is outside of kernel work
    /// and was killed, or has a signal and is in no system call that it must leave first.
    pub(crate) fn attends(&self) -> bool {
        self.signalled && self.shields == 0 && (self.killed || self.signals.in_call == 0)
    }

    /// Whether the thread must still pay for handlers that have run, or will run.
    pub(crate) fn is_due(&self) -> bool {
        self.due != 0 || self.handlers != 0
    }
}
