//! Whose requests a CPU sends: what the operating system loads into it at each switch. And the
//! threads that have credits at queue devices.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::Subject;

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
        let loaded = vec![Subject { thread: OUTSIDE, domain: 0 }; cpus as usize];
        Subjects { loaded, ..Subjects::default() }
    }

    /// Whose requests a CPU sends. Outside of guest code nothing was loaded.
    pub(crate) fn of(&self, cpu: u32) -> Subject {
        self.loaded.get(cpu as usize).copied().unwrap_or(Subject { thread: OUTSIDE, domain: 0 })
    }

    /// A thread has joined the credits of a queue.
    pub(crate) fn joins(&mut self, thread: ThreadId) {
        if !self.joined.contains(&thread) {
            self.joined.push(thread);
        }
    }
}
