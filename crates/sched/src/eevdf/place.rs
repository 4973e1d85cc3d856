//! Chooses the CPU to which a thread goes, and the thread that an idle CPU takes.

use super::Eevdf;
use crate::{Decision, ThreadId};
use baton_units::CpuId;
use std::cmp::Reverse;

impl Eevdf {
    /// Whether the CPU is on and the thread may run there.
    pub(super) fn may_have(&self, cpu: CpuId, id: ThreadId) -> bool {
        !self.queues[cpu.0 as usize].off && self.thread(id).affinity.has(cpu)
    }

    fn idle(&self, cpu: CpuId) -> bool {
        self.queues[cpu.0 as usize].current.is_none()
    }

    /// Number of threads that run or wait on the CPU.
    fn load(&self, cpu: CpuId) -> usize {
        self.waiting(cpu).count() + usize::from(!self.idle(cpu))
    }

    /// Sum of the weights of the threads that run or wait on the CPU.
    fn weight(&self, cpu: CpuId) -> u64 {
        let all = self.waiting(cpu).chain(self.queues[cpu.0 as usize].current);
        all.map(|id| self.thread(id).nice.weight()).sum()
    }

    /// Returns the nearest idle CPU on which the thread may run.
    fn idle_near(&self, home: CpuId, id: ThreadId) -> Option<CpuId> {
        self.cpus.idle_near(home, |cpu| self.idle(cpu), |cpu| self.may_have(cpu, id), |cpu| self.load(cpu))
    }

    /// Returns the CPU for a thread that can run from now on.
    pub(super) fn choose(&self, id: ThreadId) -> CpuId {
        let home = self.thread(id).cpu;
        let (stays, fresh) = (self.may_have(home, id), self.thread(id).fresh);
        if stays && !fresh && (self.idle(home) || !self.seeks_idle) {
            return home;
        }
        if let Some(cpu) = self.idle_near(home, id) {
            return cpu;
        }
        if stays && !fresh {
            return home;
        }
        let may = self.cpus.ids().filter(|&cpu| self.may_have(cpu, id));
        may.min_by_key(|&cpu| self.load(cpu)).unwrap_or(home)
    }

    /// Moves a woken thread from its idle CPU to the waker's in `pull` of 1,000 of the cases in
    /// which [`Eevdf::has_less_to_do`] allows it. Returns the CPU to which the thread goes.
    pub(super) fn pulled(&mut self, id: ThreadId, to: CpuId, now: u64) -> CpuId {
        let Some(waker) = self.waker.take() else { return to };
        if waker == to || !self.idle(to) || self.idle(waker) || !self.may_have(waker, id) || self.thread(id).fresh {
            return to;
        }
        if self.pull == 0 || !self.has_less_to_do(waker, to, id, now) {
            return to;
        }
        self.pulls += self.pull;
        if self.pulls < 1000 {
            return to;
        }
        self.pulls -= 1000;
        waker
    }

    /// Whether the load of the waker's CPU with the thread is below 1.08 times the load of the
    /// other CPU without it. The 8% are half of the imbalance that Linux tolerates between CPUs of
    /// a last-level cache (17%).
    fn has_less_to_do(&self, waker: CpuId, other: CpuId, id: ThreadId, now: u64) -> bool {
        let thread = self.thread(id);
        let own = self.worked(thread, now);
        let there = self.all_worked(other, now).saturating_sub(if thread.cpu == other { own } else { 0 });
        (self.all_worked(waker, now) + own) * 100 < there * 108
    }

    /// Takes a thread for a CPU that has run out of threads, from the longest queue with a thread
    /// that fits: the one of these that ran least recently. A thread fits if it may run on the CPU
    /// and has not run for a while or never; after a tick that found the CPU idle, every thread
    /// that may run there fits.
    pub(super) fn steal(&mut self, cpu: CpuId, now: u64) -> Option<ThreadId> {
        let queue = &self.queues[cpu.0 as usize];
        if queue.off {
            return None;
        }
        let (pulls, hot) = (queue.pulls, self.hot);
        let fits = |id: ThreadId| {
            let thread = self.thread(id);
            thread.affinity.has(cpu) && (pulls || thread.fresh || thread.ran_at + hot <= now)
        };
        let others = self.cpus.ids().filter(|&other| other != cpu && self.waiting(other).any(fits));
        let from = others.max_by_key(|&other| (self.load(other), Reverse(other)))?;
        let id = self.waiting(from).filter(|&id| fits(id)).min_by_key(|&id| (self.thread(id).ran_at, id))?;
        self.remove(id, now);
        self.enter(id, cpu, now);
        self.queue(cpu).steals += 1;
        Some(id)
    }

    /// Balances at a tick of a CPU on which threads wait. An idle CPU is told to take a waiting
    /// thread. A busy CPU gets one if that evens out the weights of the CPUs' threads, as Linux
    /// does after balancing has failed (`detach_tasks`, `kernel/sched/fair.c`).
    pub(super) fn balance(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let mut waiting: Vec<ThreadId> = self.waiting(cpu).collect();
        waiting.sort_by_key(|&id| (self.thread(id).ran_at, id));
        for id in waiting {
            if let Some(idle) = self.idle_near(cpu, id) {
                self.queue(idle).pulls = true;
                out.push(Decision::Start(idle));
                return;
            }
            let may = self.cpus.ids().filter(|&other| other != cpu && self.may_have(other, id));
            let Some(to) = may.min_by_key(|&other| self.weight(other)) else { continue };
            if self.weight(cpu) > self.weight(to) + self.thread(id).nice.weight() {
                self.remove(id, now);
                self.enter(id, to, now);
                self.arrive(id, now, out);
                return;
            }
        }
    }
}
