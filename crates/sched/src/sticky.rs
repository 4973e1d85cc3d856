//! Threads stay where they were born and take turns: the simplest policy.
//!
//! A new thread goes to the CPU that has the fewest threads; among equals, the one with the lowest
//! number. It stays there until that CPU is switched off or its affinity forbids it. Each queue is
//! first in, first out, and a thread runs for one time slice if another waits. A wake-up preempts
//! no thread, and an idle CPU takes nothing from others.

use crate::{Affinity, Born, Cpus, Decision, Params, Policy, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};
use std::collections::VecDeque;

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "sticky",
    what: "threads stay on the CPU that they were born on; round robin by time slices",
    source: "round robin of POSIX (SCHED_RR), without priorities",
    make: |cpus, params| Box::new(Sticky::new(cpus, params)),
};

struct Thread {
    affinity: Affinity,
    cpu: CpuId,
}

#[derive(Default)]
struct Queue {
    current: Option<ThreadId>,
    /// The time at which the current thread began to run; `None` while the CPU switches.
    since: Option<Cycles>,
    ready: VecDeque<ThreadId>,
    /// Number of threads that have this CPU as their home, including blocked ones.
    lives: usize,
    off: bool,
}

struct Sticky {
    threads: Vec<Option<Thread>>,
    queues: Vec<Queue>,
    slice: Cycles,
}

impl Sticky {
    fn new(cpus: &Cpus, params: &Params) -> Sticky {
        let queues = cpus.ids().map(|_| Queue::default()).collect();
        Sticky { threads: Vec::new(), queues, slice: params.time_slice }
    }

    fn thread(&mut self, id: ThreadId) -> &mut Thread {
        self.threads[id.0 as usize].as_mut().expect("the thread lives")
    }

    fn queue(&mut self, cpu: CpuId) -> &mut Queue {
        &mut self.queues[cpu.0 as usize]
    }

    /// Returns the CPU with the fewest threads among those on which a thread with this affinity may
    /// run.
    fn home(&self, affinity: &Affinity) -> Option<CpuId> {
        let all = (0..self.queues.len() as u32).map(CpuId);
        all.filter(|&cpu| affinity.has(cpu) && !self.queues[cpu.0 as usize].off)
            .min_by_key(|cpu| self.queues[cpu.0 as usize].lives)
    }

    /// Gives the thread another home if it may not stay where it is.
    fn settle(&mut self, id: ThreadId) {
        let thread = self.threads[id.0 as usize].as_ref().expect("the thread lives");
        let (from, affinity) = (thread.cpu, &thread.affinity);
        if affinity.has(from) && !self.queues[from.0 as usize].off {
            return;
        }
        let Some(to) = self.home(affinity) else { return };
        self.queue(from).lives -= 1;
        self.queue(to).lives += 1;
        self.thread(id).cpu = to;
    }

    /// Puts the thread behind the others of its CPU.
    fn enqueue(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.settle(id);
        let cpu = self.thread(id).cpu;
        let slice = self.slice;
        let queue = self.queue(cpu);
        queue.ready.push_back(id);
        match (queue.current, queue.since) {
            (None, _) => out.push(Decision::Start(cpu)),
            // The thread is the first that waits for the CPU, so the running thread's slice gets an
            // end.
            (Some(_), Some(since)) if queue.ready.len() == 1 => {
                out.push(Decision::Timer(cpu, (since + slice).max(now)));
            }
            _ => {}
        }
    }

    /// Takes the thread off its CPU.
    fn leave(&mut self, id: ThreadId, out: &mut Vec<Decision>) -> CpuId {
        let cpu = self.thread(id).cpu;
        let queue = self.queue(cpu);
        (queue.current, queue.since) = (None, None);
        out.push(Decision::NoTimer(cpu));
        cpu
    }

    /// Sends waiting threads elsewhere that may not stay on this CPU, and preempts the running
    /// thread if it may not stay.
    fn clear(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let waiting: Vec<ThreadId> = self.queue(cpu).ready.drain(..).collect();
        for id in waiting {
            let stays = !self.queue(cpu).off && self.thread(id).affinity.has(cpu);
            if stays {
                self.queue(cpu).ready.push_back(id);
            } else {
                self.enqueue(now, id, out);
            }
        }
        let Some(current) = self.queue(cpu).current else { return };
        if self.queue(cpu).off || !self.thread(current).affinity.has(cpu) {
            out.push(Decision::Preempt(cpu));
        }
    }
}

impl Scheduler for Sticky {
    fn fork(&mut self, _: Cycles, id: ThreadId, born: &Born) {
        let cpu = self.home(&born.affinity).unwrap_or(born.near);
        self.queue(cpu).lives += 1;
        let at = id.0 as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        self.threads[at] = Some(Thread { affinity: born.affinity.clone(), cpu });
    }

    fn wake(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.enqueue(now, id, out);
    }

    fn block(&mut self, _: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.leave(id, out);
    }

    fn exit(&mut self, _: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let cpu = self.leave(id, out);
        self.queue(cpu).lives -= 1;
    }

    fn yields(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let from = self.leave(id, out);
        self.settle(id);
        if self.thread(id).cpu == from {
            // The caller picks from this queue next, so no CPU needs to be woken.
            self.queue(from).ready.push_back(id);
        } else {
            self.enqueue(now, id, out);
        }
    }

    fn pick(&mut self, _: Cycles, cpu: CpuId, _: &mut Vec<Decision>) -> Option<ThreadId> {
        let queue = self.queue(cpu);
        queue.current = queue.ready.pop_front();
        queue.current
    }

    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let slice = self.slice;
        let queue = self.queue(cpu);
        queue.since = Some(now);
        if !queue.ready.is_empty() {
            out.push(Decision::Timer(cpu, now + slice));
        }
    }

    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let slice = self.slice;
        let queue = self.queue(cpu);
        let Some(since) = queue.since.filter(|_| !queue.ready.is_empty()) else { return };
        if now >= since + slice {
            out.push(Decision::Preempt(cpu));
        } else {
            out.push(Decision::Timer(cpu, since + slice));
        }
    }

    fn set_affinity(&mut self, now: Cycles, id: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>) {
        let thread = self.thread(id);
        thread.affinity = affinity.clone();
        let cpu = thread.cpu;
        if !affinity.has(cpu) {
            self.clear(now, cpu, out);
        }
    }

    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>) {
        self.queue(cpu).off = !online;
        if !online {
            self.clear(now, cpu, out);
        }
    }

    fn place(&self, id: ThreadId) -> CpuId {
        self.threads[id.0 as usize].as_ref().map_or(CpuId(0), |thread| thread.cpu)
    }
}
