//! The thread and the process for which each CPU sends its requests. The operating system loads the
//! thread's number and the process's domain into the CPU at each switch, and the CPU's requests
//! carry both. This file also lists the threads that have something at queue devices.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::Subject;

/// The subject of a CPU that has run no guest yet, and of code outside of guests.
pub(crate) const NO_GUEST: Subject = Subject { thread: OUTSIDE, domain: 0 };

/// Threads and processes, as devices know them.
#[derive(Default)]
pub(crate) struct Subjects {
    /// For each CPU, the subject that the operating system loaded last.
    pub(super) loaded: Vec<Subject>,
    /// Threads that have something at devices: credits, a queue with flows from which they receive,
    /// or an interrupt that they asked for.
    pub(super) joined: Vec<ThreadId>,
    /// The threads in `joined` that have ended while posted requests of theirs were under way, or
    /// while a queue was being moved.
    pub(super) leaving: Vec<ThreadId>,
    /// Threads that sleep until a device interrupts them.
    pub(crate) asleep: Vec<ThreadId>,
    /// Threads that a device has interrupted before they slept. Their next sleep until a device's
    /// interrupt ends at once.
    pub(crate) fired: Vec<ThreadId>,
    /// Whether threads waited for a CPU when devices were last told.
    pub(super) crowded: bool,
}

impl Subjects {
    /// The subjects of a chip with `cpus` CPUs in use, none of which has run a guest.
    pub(super) fn new(cpus: u32) -> Subjects {
        Subjects { loaded: vec![NO_GUEST; cpus as usize], ..Subjects::default() }
    }

    /// The thread and the process for which a CPU sends its requests.
    pub(crate) fn of(&self, cpu: u32) -> Subject {
        self.loaded.get(cpu as usize).copied().unwrap_or(NO_GUEST)
    }

    /// Records that a thread has joined the credits of a queue, is bound to a queue with flows, or
    /// asks a device to interrupt it.
    pub(crate) fn joins(&mut self, thread: ThreadId) {
        if !self.joined.contains(&thread) {
            self.joined.push(thread);
        }
    }

    /// A thread is about to sleep until a device interrupts it. Returns whether a device has done
    /// so already, and forgets that.
    pub(crate) fn was_fired(&mut self, thread: ThreadId) -> bool {
        let before = self.fired.len();
        self.fired.retain(|fired| *fired != thread);
        self.fired.len() < before
    }

    /// A device interrupts a thread. Returns whether the thread sleeps until then, and must be
    /// woken. If not, the interrupt is kept for the thread's next such sleep, provided that the
    /// thread is in `joined`.
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
