//! The operating system loads a thread's number and its process's domain into the CPU at each
//! switch, and the CPU's requests carry both. This file also lists the threads that have credits at
//! queue devices.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::Subject;

/// What a CPU was loaded with if it runs no guest code.
pub(crate) const NO_GUEST: Subject = Subject { thread: OUTSIDE, domain: 0 };

/// Threads and processes, as devices know them.
#[derive(Default)]
pub(crate) struct Subjects {
    /// By CPU.
    pub(super) loaded: Vec<Subject>,
    /// Threads that have something at devices: credits, or an interrupt that they asked for.
    pub(super) joined: Vec<ThreadId>,
    /// The joined threads that have ended, with posted requests under way.
    pub(super) leaving: Vec<ThreadId>,
    /// Threads that sleep until a device interrupts them.
    pub(crate) asleep: Vec<ThreadId>,
    /// Threads that a device has interrupted before they slept.
    pub(crate) fired: Vec<ThreadId>,
    /// Whether threads wait for a CPU, as devices were told.
    pub(super) crowded: bool,
}

impl Subjects {
    /// The subjects of a chip with these CPUs in use.
    pub(super) fn new(cpus: u32) -> Subjects {
        Subjects { loaded: vec![NO_GUEST; cpus as usize], ..Subjects::default() }
    }

    /// The thread and the process for which a CPU sends its requests.
    pub(crate) fn of(&self, cpu: u32) -> Subject {
        self.loaded.get(cpu as usize).copied().unwrap_or(NO_GUEST)
    }

    /// A thread has joined the credits of a queue, or asks to be interrupted.
    pub(crate) fn joins(&mut self, thread: ThreadId) {
        if !self.joined.contains(&thread) {
            self.joined.push(thread);
        }
    }

    /// A thread is about to sleep until a device interrupts it. Returns whether one has done so.
    pub(crate) fn was_fired(&mut self, thread: ThreadId) -> bool {
        let before = self.fired.len();
        self.fired.retain(|fired| *fired != thread);
        self.fired.len() < before
    }

    /// A device interrupts a thread. Returns whether the thread sleeps until then; if not, it will
    /// not sleep.
    pub(crate) fn fires(&mut self, thread: ThreadId) -> bool {
        let before = self.asleep.len();
        self.asleep.retain(|asleep| *asleep != thread);
        let slept = self.asleep.len() < before;
        if !slept && self.joined.contains(&thread) && !self.fired.contains(&thread) {
            self.fired.push(thread);
        }
        slept
    }
}
