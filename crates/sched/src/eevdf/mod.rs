//! The policy "earliest eligible virtual deadline first", as in Linux since 6.6, with the delayed
//! dequeue of 6.12.
//!
//! Each thread has a virtual run time, which grows the more slowly the larger the thread's weight
//! is ([`Nice`](crate::Nice)), and a deadline, which is one request of run time later. A thread is
//! eligible while it has run no longer than the mean of its queue. The eligible thread with the
//! earliest deadline runs next, and runs undisturbed until its deadline as long as it is eligible.
//! Two consequences decide the performance of locks that hand over to sleepers:
//!
//! - **A thread that goes to sleep in debt stays in the queue** (delayed dequeue) until the others
//!   have caught up. If it is woken before that, it goes to no other CPU, even if one is idle. So
//!   threads that wake each other gather on one CPU, where a hand-over needs no interrupt.
//! - **A waker that has run longer than the mean loses its CPU to the thread that it wakes**, at
//!   once. If the waker was about to queue up for the lock again, it is then not in the lock's
//!   queue. That is how a convoy of threads which hand a lock to sleepers ends.
//!
//! Run time is counted only when something asks for it, as in Linux. It is not yet counted when a
//! thread that stayed in the queue wakes up, so a waker that was level with that thread is ahead a
//! moment later. The time of a switch counts as run time of the thread that is switched to.
//!
//! A thread that is woken from another CPU while its own is idle normally goes back to its own. The
//! exception (Linux: `wake_affine_weight`): if the load of the waker's CPU with the thread is less
//! than 1.08 times the load of its own CPU without it, then a share of such threads (`wake_pull`)
//! goes to the waker's CPU. Linux pulls all of them if it takes no idle CPU instead, and none if it
//! does; the share here is a measured one.
//!
//! A CPU that runs out of threads takes a waiting thread only if that thread has not run for a
//! while (its cache is cold); ticks move threads to CPUs that stay idle. Under `eevdf`, woken
//! threads look for idle CPUs. Under `eevdf-guest`, they stay where they ran: a Linux guest under
//! KVM that has steal time mistakes a halted CPU for one that the host has preempted, and avoids
//! it.
//!
//! The sources are Stoica and Abdel-Wahab (Old Dominion University, TR-95-22) and Linux's
//! `kernel/sched/fair.c`, as its documentation (`Documentation/scheduler/sched-eevdf.rst`)
//! describes it, without groups. The request is Linux's base slice, 0.7 ms times 1 + log2 of the
//! number of CPUs (at most 8 count; the logarithm is rounded down), in units of `time_slice`, which
//! stands for Linux's tick of 4 ms.

mod load;
mod place;
mod queue;

use crate::{Affinity, Born, Cpus, Decision, Params, Policy, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};
use load::Load;
use queue::{Entity, Queue, ThreadState};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "eevdf",
    what: "the eligible thread with the earliest deadline runs next; who sleeps in debt stays queued; wake-ups seek idle CPUs",
    source: "Stoica and Abdel-Wahab 1995; Linux 6.12 and later, without groups",
    make: |cpus, params| Box::new(Eevdf::new(cpus, params, true)),
};

/// The row in the registry of the policy on a virtual machine.
pub const GUEST: Policy = Policy {
    name: "eevdf-guest",
    what: "as eevdf, on a virtual machine whose halted CPUs count as taken: wake-ups leave threads where they ran",
    source: "Linux 6.12 and later under KVM with steal time",
    make: |cpus, params| Box::new(Eevdf::new(cpus, params, false)),
};

struct Eevdf {
    cpus: Cpus,
    /// Length of a tick in cycles.
    tick: u64,
    /// How long a thread may run before its deadline comes.
    request: i64,
    /// A CPU that has only just run out of threads does not take a thread that ran within this
    /// time.
    hot: u64,
    /// The time in which a load halves.
    half: u64,
    seeks_idle: bool,
    /// How many of 1,000 candidates are pulled to the waker's CPU. `pulls` sums this up and is
    /// reduced by 1,000 at each pull.
    pull: u32,
    pulls: u32,
    waker: Option<CpuId>,
    threads: Vec<Option<Entity>>,
    queues: Vec<Queue>,
    order: u64,
}

impl Eevdf {
    fn new(cpus: &Cpus, params: &Params, seeks_idle: bool) -> Eevdf {
        let tick = params.time_slice.0.max(1);
        let doublings = 1 + u64::from(cpus.count().clamp(1, 8).ilog2());
        Eevdf {
            cpus: cpus.clone(),
            tick,
            request: (tick * 7 * doublings / 40).clamp(1, tick) as i64,
            // Linux uses 0.5 ms, an eighth of its tick of 4 ms.
            hot: tick / 8,
            // Linux uses 32 periods of 1.024 ms, which are 8.192 ticks of 4 ms.
            half: (tick * 8192 / 1000).max(1),
            seeks_idle,
            pull: params.wake_pull.min(1000),
            pulls: 0,
            waker: None,
            threads: Vec::new(),
            queues: cpus.ids().map(|_| Queue::default()).collect(),
            order: 0,
        }
    }

    fn thread(&self, id: ThreadId) -> &Entity {
        self.threads[id.0 as usize].as_ref().expect("the thread lives")
    }

    fn thread_mut(&mut self, id: ThreadId) -> &mut Entity {
        self.threads[id.0 as usize].as_mut().expect("the thread lives")
    }

    fn queue(&mut self, cpu: CpuId) -> &mut Queue {
        &mut self.queues[cpu.0 as usize]
    }

    /// Puts a thread that can run into its CPU's queue, and lets the CPU react to it.
    fn arrive(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        self.order += 1;
        let order = self.order;
        self.thread_mut(id).order = order;
        self.turn(id, ThreadState::Ready, now);
        let cpu = self.thread(id).cpu;
        if !self.queue(cpu).members.contains(&id) {
            self.queue(cpu).members.push(id);
        }
        if self.queues[cpu.0 as usize].current.is_none() {
            out.push(Decision::Start(cpu));
            return;
        }
        self.charge(cpu, now);
        if self.best(cpu, true) == Some(id) {
            out.push(Decision::Preempt(cpu));
        }
        self.arm(cpu, now, out);
    }

    /// Asks for the next tick of the CPU if a thread waits there.
    fn arm(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let (tick, waits) = (self.tick, self.waiting(cpu).next().is_some());
        let queue = self.queue(cpu);
        if queue.current.is_none() || queue.since.is_none() || queue.timer || !waits {
            return;
        }
        queue.timer = true;
        out.push(Decision::Timer(cpu, Cycles((now / tick + 1) * tick)));
    }

    /// Takes a thread off its CPU and brings its run time up to date. It is then in no queue.
    fn leave(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) -> CpuId {
        let cpu = self.thread(id).cpu;
        self.charge(cpu, now);
        self.thread_mut(id).ran_at = now;
        let queue = self.queue(cpu);
        (queue.current, queue.since, queue.left) = (None, None, Some(now));
        if std::mem::take(&mut queue.timer) {
            out.push(Decision::NoTimer(cpu));
        }
        cpu
    }

    /// Moves a thread that can run and is in no queue to the CPU that suits it.
    fn moves(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        let to = self.choose(id);
        let to = self.pulled(id, to, now);
        self.enter(id, to, now);
        self.arrive(id, now, out);
    }

    /// Sends waiting threads elsewhere that may not stay on this CPU, takes sleepers that may not
    /// stay out of its queue, and preempts the running thread if it may not stay.
    fn clear(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let goes: Vec<ThreadId> =
            self.queues[cpu.0 as usize].members.iter().copied().filter(|&id| !self.may_have(cpu, id)).collect();
        for id in goes {
            let delayed = self.thread(id).state == ThreadState::Delayed;
            self.remove(id, now);
            if !delayed {
                self.moves(id, now, out);
            }
        }
        if self.queues[cpu.0 as usize].current.is_some_and(|current| !self.may_have(cpu, current)) {
            out.push(Decision::Preempt(cpu));
        }
    }
}

impl Scheduler for Eevdf {
    fn fork(&mut self, _: Cycles, id: ThreadId, born: &Born) {
        let at = id.0 as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        self.threads[at] = Some(Entity::new(born));
    }

    fn waker(&mut self, cpu: CpuId) {
        self.waker = Some(cpu);
    }

    fn wake(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        if self.thread(id).state == ThreadState::Delayed {
            self.waker = None;
            // Linux looks at the woken thread's lag before it counts what the current thread has
            // run since it was switched to. So a waker that was level with the woken thread is
            // ahead once its run time is counted, and loses its CPU.
            if self.lag(id) > 0 {
                // The others have caught up with the woken thread or passed it, so it starts level
                // with them.
                self.start_level(id);
            }
            self.arrive(id, now.0, out);
            return;
        }
        self.moves(id, now.0, out);
    }

    fn block(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let cpu = self.leave(id, now.0, out);
        self.queue(cpu).members.push(id);
        match self.lag(id) {
            ..0 => self.turn(id, ThreadState::Delayed, now.0),
            _ => self.remove(id, now.0),
        }
    }

    fn exit(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.leave(id, now.0, out);
        self.turn(id, ThreadState::Blocked, now.0);
        self.thread_mut(id).load = Load::GONE;
    }

    fn yields(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let cpu = self.leave(id, now.0, out);
        self.queue(cpu).members.push(id);
        self.turn(id, ThreadState::Ready, now.0);
        if !self.may_have(cpu, id) {
            self.remove(id, now.0);
            self.moves(id, now.0, out);
        }
    }

    fn pick(&mut self, now: Cycles, cpu: CpuId, _: &mut Vec<Decision>) -> Option<ThreadId> {
        let next = loop {
            match self.best(cpu, false) {
                // The sleeper's debt is paid, so it leaves the queue now.
                Some(id) if self.thread(id).state == ThreadState::Delayed => {
                    self.remove(id, now.0);
                    let thread = self.thread_mut(id);
                    thread.lag = thread.lag.min(0);
                }
                Some(id) => {
                    self.queue(cpu).members.retain(|&other| other != id);
                    break Some(id);
                }
                None => break self.steal(cpu, now.0),
            }
        };
        if let Some(id) = next {
            self.turn(id, ThreadState::Running, now.0);
            let thread = self.thread_mut(id);
            (thread.fresh, thread.protected) = (false, thread.deadline);
        }
        let queue = self.queue(cpu);
        (queue.current, queue.pulls) = (next, false);
        // A thread that comes onto an idle CPU is not charged for waking that CPU, nor for the time
        // in which it was off.
        queue.left = queue.left.filter(|&left| next.is_some() && left == now.0);
        next
    }

    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        let queue = self.queue(cpu);
        queue.since = Some(queue.left.take().unwrap_or(now.0));
        self.arm(cpu, now.0, out);
    }

    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        self.queue(cpu).timer = false;
        self.charge(cpu, now.0);
        let Some(current) = self.queues[cpu.0 as usize].current else { return };
        self.balance(cpu, now.0, out);
        let over = self.thread(current).virtual_time >= self.thread(current).protected;
        if over && self.waiting(cpu).next().is_some() {
            out.push(Decision::Preempt(cpu));
        } else {
            self.arm(cpu, now.0, out);
        }
    }

    fn set_affinity(&mut self, now: Cycles, id: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>) {
        self.thread_mut(id).affinity = affinity.clone();
        let cpu = self.thread(id).cpu;
        if self.thread(id).state != ThreadState::Blocked && !affinity.has(cpu) {
            self.clear(cpu, now.0, out);
        }
    }

    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>) {
        self.queue(cpu).off = !online;
        if !online {
            self.clear(cpu, now.0, out);
        }
    }

    fn steals(&self, cpu: CpuId) -> u64 {
        self.queues[cpu.0 as usize].steals
    }

    fn place(&self, id: ThreadId) -> CpuId {
        self.threads[id.0 as usize].as_ref().map_or(CpuId(0), |thread| thread.cpu)
    }
}
