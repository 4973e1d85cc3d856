//! Threads as the scheduler in the kernel is told of them.

use super::Run;
use crate::scx::Belongs;
use crate::sys;
use baton_sched::ThreadId;

impl Run {
    /// Whether decisions are carried out, by masks or in the kernel.
    pub(super) fn acts(&self) -> bool {
        self.journal.is_some() || self.scx.is_some()
    }

    /// Says where a thread belongs. CPUs of both kinds are the user's mask.
    pub(super) fn place(&mut self, id: ThreadId, cpus: &[u32]) {
        let kinds = &self.core.setup().cpus.0;
        let fast = cpus.iter().filter(|&&cpu| kinds[cpu as usize].fast == Some(true)).count();
        let belongs = match fast {
            0 => Belongs::Slow,
            _ if fast == cpus.len() => Belongs::Fast,
            _ => Belongs::Any,
        };
        self.tell_kernel(id, belongs);
        self.figures.masks += 1;
        self.changed.insert(id, (sys::now(), cpus.to_vec()));
    }

    /// Makes a thread one of the scheduler's. The thread is new, or its user has changed its mask.
    pub(super) fn place_anywhere(&mut self, id: ThreadId) {
        self.tell_kernel(id, Belongs::Any);
    }

    fn tell_kernel(&mut self, id: ThreadId, belongs: Belongs) {
        if let (Some(key), Some(scx)) = (self.live.key(id), &mut self.scx) {
            scx.place(key.tid, belongs);
        }
    }
}
