//! The run queues: which one a thread enters, and what an idle CPU takes.

use super::{Adapter, Event, ThreadState};
use crate::{Decision, ThreadId};
use baton_units::{CpuId, Cycles};
use std::cmp::Reverse;

impl Adapter {
    /// Whether the CPU is on and the thread may run there.
    pub(super) fn may_have(&self, cpu: CpuId, id: ThreadId) -> bool {
        !self.queues[cpu.0 as usize].off && self.thread(id).affinity.has(cpu)
    }

    /// Number of threads that are on the CPU, in its queue, or bound for it.
    pub(super) fn load(&self, cpu: CpuId) -> usize {
        let queue = &self.queues[cpu.0 as usize];
        queue.ready.len() + usize::from(queue.current.is_some()) + queue.awaits as usize
    }

    /// Returns the nearest idle CPU on which the thread may run.
    pub(super) fn idle_near(&self, id: ThreadId) -> Option<CpuId> {
        let idle = |cpu| self.load(cpu) == 0;
        self.cpus.idle_near(self.thread(id).cpu, idle, |cpu| self.may_have(cpu, id), |_| 0)
    }

    /// Returns the CPU for a thread that enters a queue.
    pub(super) fn choose(&self, id: ThreadId) -> CpuId {
        let thread = self.thread(id);
        let home = thread.cpu;
        let stays = self.may_have(home, id);
        let own = self.load(home);
        if stays && own == 0 {
            return home;
        }
        if let Some(cpu) = self.idle_near(id) {
            return cpu;
        }
        let may = self.cpus.ids().filter(|&cpu| self.may_have(cpu, id));
        let Some(shortest) = may.min_by_key(|&cpu| (self.load(cpu), self.cpus.distance(home, cpu))) else {
            return home;
        };
        // The thread leaves its own queue if that queue, with the thread in it, would be longer
        // than the shortest one by two or more.
        if stays && !thread.fresh && own < self.load(shortest) + 1 { home } else { shortest }
    }

    /// Puts the thread into the queue of a CPU, behind those that have waited longer.
    pub(super) fn enqueue(&mut self, id: ThreadId, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let thread = self.thread_mut(id);
        (thread.cpu, thread.state, thread.moved, thread.fresh) = (cpu, ThreadState::Ready, false, false);
        let waits = thread.waits;
        let ready = &self.queues[cpu.0 as usize].ready;
        let at = ready.iter().rposition(|&other| self.thread(other).waits < waits).map_or(0, |at| at + 1);
        self.queue(cpu).ready.insert(at, id);
        self.tell(now, &Event::Placed(id, cpu), out);
        if self.queues[cpu.0 as usize].current.is_none() {
            out.push(Decision::Start(cpu));
        } else {
            self.arm(cpu, now, out);
        }
    }

    /// Records that the thread waits for a CPU from now on.
    pub(super) fn begins_to_wait(&mut self, id: ThreadId, now: u64) {
        self.entered += 1;
        let entered = self.entered;
        self.thread_mut(id).waits = (now, entered);
    }

    /// Asks for a tick at the end of the running thread's slice if another thread waits for the
    /// CPU.
    pub(super) fn arm(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let slice = self.slice;
        let queue = self.queue(cpu);
        let Some(since) = queue.since else { return };
        if queue.timer || queue.ready.is_empty() {
            return;
        }
        queue.timer = true;
        out.push(Decision::Timer(cpu, Cycles((since + slice).max(now))));
    }

    /// Takes the thread off its CPU.
    pub(super) fn leave(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) -> CpuId {
        let cpu = self.thread(id).cpu;
        self.account(cpu, now);
        let queue = self.queue(cpu);
        (queue.current, queue.since) = (None, None);
        if std::mem::take(&mut queue.timer) {
            out.push(Decision::NoTimer(cpu));
        }
        cpu
    }

    /// Takes the thread that has waited longest from the longest queue that has a thread that may
    /// run on this CPU.
    pub(super) fn steal(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) -> Option<ThreadId> {
        let may = |id: &&ThreadId| self.thread(**id).affinity.has(cpu);
        let ready = |other: CpuId| &self.queues[other.0 as usize].ready;
        // A free CPU with threads in its queue is about to take one of them itself.
        let keeps = |other: CpuId| usize::from(self.queues[other.0 as usize].current.is_none());
        let busy = self.cpus.ids().filter(|&other| ready(other).len() > keeps(other));
        let others = busy.filter(|&other| ready(other).iter().any(|id| may(&id)));
        let from = others
            .max_by_key(|&other| (ready(other).len(), Reverse(self.cpus.distance(cpu, other)), Reverse(other)))?;
        let id = ready(from).iter().find(may).copied()?;
        self.queue(from).ready.retain(|&other| other != id);
        let queue = self.queue(cpu);
        queue.steals += 1;
        queue.ready.push_back(id);
        self.thread_mut(id).cpu = cpu;
        self.tell(now, &Event::Placed(id, cpu), out);
        self.queue(cpu).ready.pop_front()
    }

    /// Sends waiting threads elsewhere that may not stay on this CPU.
    pub(super) fn clear(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let go: Vec<ThreadId> =
            self.queues[cpu.0 as usize].ready.iter().copied().filter(|&id| !self.may_have(cpu, id)).collect();
        for id in go {
            self.queue(cpu).ready.retain(|&other| other != id);
            let to = self.choose(id);
            self.enqueue(id, to, now, out);
        }
    }
}
