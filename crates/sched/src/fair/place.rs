//! Chooses the CPU to which a thread goes, and the thread that an idle CPU takes.

use super::Fair;
use crate::{Decision, ThreadId};
use baton_units::CpuId;
use std::cmp::Reverse;

impl Fair {
    /// Whether the CPU is on and the thread may run there.
    pub(super) fn may_have(&self, cpu: CpuId, id: ThreadId) -> bool {
        !self.queues[cpu.0 as usize].off && self.thread(id).affinity.has(cpu)
    }

    fn idle(&self, cpu: CpuId) -> bool {
        self.queues[cpu.0 as usize].current.is_none()
    }

    /// Returns the nearest idle CPU on which the thread may run.
    fn idle_near(&self, home: CpuId, id: ThreadId) -> Option<CpuId> {
        self.cpus.idle_near(home, |cpu| self.idle(cpu), |cpu| self.may_have(cpu, id), |_| 0)
    }

    /// Returns the CPU for a thread that can run from now on.
    pub(super) fn choose(&self, id: ThreadId) -> CpuId {
        let home = self.thread(id).cpu;
        let stays = self.may_have(home, id);
        if stays && self.idle(home) {
            return home;
        }
        if let Some(cpu) = self.idle_near(home, id) {
            return cpu;
        }
        if stays && !self.thread(id).fresh {
            return home;
        }
        // A new thread, or one that may not stay, goes to the shortest queue.
        let may = self.cpus.ids().filter(|&cpu| self.may_have(cpu, id));
        may.min_by_key(|cpu| self.queues[cpu.0 as usize].ready.len()).unwrap_or(home)
    }

    /// Returns the CPU with the longest queue among those with threads that may run on `cpu`; among
    /// equals, the lowest number.
    pub(super) fn longest_for(&self, cpu: CpuId) -> Option<CpuId> {
        let may = |id: &ThreadId| self.thread(*id).affinity.has(cpu);
        let ready = |other: CpuId| &self.queues[other.0 as usize].ready;
        self.cpus
            .ids()
            .filter(|&other| other != cpu && ready(other).iter().any(may))
            .max_by_key(|&other| (ready(other).len(), Reverse(other)))
    }

    /// Takes a thread from the longest of the other queues in which a thread may run on `cpu`: of
    /// those that may, the one that has waited longest.
    pub(super) fn steal(&mut self, cpu: CpuId, now: u64) -> Option<ThreadId> {
        let from = self.longest_for(cpu)?;
        let ready = &self.queues[from.0 as usize].ready;
        let may = |at: &usize| self.thread(ready[*at]).affinity.has(cpu);
        let at = (0..ready.len()).filter(may).min_by_key(|&at| self.thread(ready[at]).order)?;
        let id = self.queue(from).ready.swap_remove(at);
        self.settle(id, cpu, now);
        Some(id)
    }

    /// Lets idle CPUs take threads that wait on this CPU: threads that were preempted, or that have
    /// only now been allowed to leave.
    pub(super) fn offer(&self, cpu: CpuId, out: &mut Vec<Decision>) {
        if self.busy == self.queues.len() {
            return;
        }
        for &id in &self.queues[cpu.0 as usize].ready {
            if let Some(idle) = self.idle_near(cpu, id) {
                out.push(Decision::Start(idle));
            }
        }
    }
}
