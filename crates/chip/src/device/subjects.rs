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
    /// Threads that joined the credits of a queue, and have not given them back.
    pub(super) joined: Vec<ThreadId>,
    /// The joined threads that have ended, with posted requests under way.
    pub(super) leaving: Vec<ThreadId>,
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

    /// A thread has joined the credits of a queue.
    pub(crate) fn joins(&mut self, thread: ThreadId) {
        if !self.joined.contains(&thread) {
            self.joined.push(thread);
        }
    }
}
