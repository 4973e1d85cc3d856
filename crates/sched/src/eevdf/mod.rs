//! Earliest eligible virtual deadline first, as Linux has it since 6.6, with the delayed dequeue of 6.12.
//!
//! Each thread has a virtual run time, which grows the slower the more it weighs ([`Nice`](crate::Nice)), and a deadline, one
//! request of run time further on. A thread is eligible while it has
//! run no longer than the mean of its queue; the eligible one with the earliest deadline runs next, and runs undisturbed up to
//! its deadline as long as it is eligible. Two consequences decide how locks fare that hand over to sleepers:
//!
//! - **Who sleeps in debt stays in the queue** (delayed dequeue) until the others have caught up. Woken before that, it is where
//!   it was: it goes to no other CPU, though one idles. So threads that wake each other gather on a CPU, where a hand-over
//!   needs no interrupt.
//! - **A waker that has run longer than the mean loses its CPU to the thread that it wakes**, at once. A waker that was
//!   about to queue up for the lock again is then not in the queue: that is how a convoy of threads that hand a lock to
//!   sleepers comes to an end.
//!
//! What a thread has run is counted when something asks for it, as in Linux: not yet when a thread that stayed in the queue wakes, so
//! that a waker which was level with it is ahead in the next moment. A switch is run time of the thread that is switched to.
//!
//! A thread that is woken from another CPU while its own idles goes back to its own, unless its own has had more to do of late than the
//! waker's would have with it, by 8% at least (Linux: `wake_affine_weight`): of those a share (`wake_pull`) comes to
//! the waker's. Linux pulls them all where it takes no idle CPU for free, and none where it does; the share is a measured one.
//!
//! A CPU that runs dry takes a waiting thread only if that has not run for a while (its cache is cold); ticks move threads to
//! CPUs that idle on. `eevdf` has woken threads seek idle CPUs; `eevdf-guest` leaves them where they ran: a Linux guest
//! under KVM that has steal time takes a CPU that has halted for one that the host has preempted, and avoids it.
//!
//! After Stoica and Abdel-Wahab (Old Dominion University, TR-95-22) and Linux's `kernel/sched/fair.c` as its documentation
//! (`Documentation/scheduler/sched-eevdf.rst`) describes it, without groups. The request is Linux's base slice,
//! 0.7 ms by 1 + log2 of the CPUs, in units of `time_slice`, which stands for its tick of 4 ms.

mod load;
mod place;
mod queue;

use crate::{Affinity, Born, Cpus, Decision, Params, Policy, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};
use load::Load;
use queue::{Entity, Queue, State};

/// Its row in the registry.
pub const POLICY: Policy = Policy {
    name: "eevdf",
    what: "the eligible thread with the earliest deadline runs next; who sleeps in debt stays queued; wake-ups seek idle CPUs",
    source: "Stoica and Abdel-Wahab 1995; Linux 6.12 and later, without groups",
    make: |cpus, params| Box::new(Eevdf::new(cpus, params, true)),
};

/// Its row in the registry, on a virtual machine.
pub const GUEST: Policy = Policy {
    name: "eevdf-guest",
    what: "as eevdf, on a virtual machine whose halted CPUs count as taken: wake-ups leave threads where they ran",
    source: "Linux 6.12 and later under KVM with steal time",
    make: |cpus, params| Box::new(Eevdf::new(cpus, params, false)),
};

struct Eevdf {
    cpus: Cpus,
    /// The tick.
    tick: u64,
    /// How long a thread may run before its deadline comes.
    request: i64,
    /// Who ran within this time is not taken by a CPU that has only just run dry.
    hot: u64,
    /// In so long a load halves.
    half: u64,
    seeks_idle: bool,
    /// In a thousand, and what of it has come together since the last one that was pulled.
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
            // Linux: 0.5 ms.
            hot: tick / 8,
            // 32 periods of 1.024 ms.
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

    /// Puts a thread that can run into its CPU's queue, and has the CPU take note.
    fn arrive(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        self.order += 1;
        let order = self.order;
        self.thread_mut(id).order = order;
        self.turn(id, State::Ready, now);
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

    /// Has the next tick come if a thread waits here.
    fn arm(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let (tick, waits) = (self.tick, self.waiting(cpu).next().is_some());
        let queue = self.queue(cpu);
        if queue.current.is_none() || queue.since.is_none() || queue.timer || !waits {
            return;
        }
        queue.timer = true;
        out.push(Decision::Timer(cpu, Cycles((now / tick + 1) * tick)));
    }

    /// The thread leaves its CPU; its run time is up to date. It is in no queue.
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

    /// Moves a thread that can run, and is in no queue, to the CPU that suits it.
    fn moves(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        let to = self.choose(id);
        let to = self.pulled(id, to, now);
        self.enter(id, to, now);
        self.arrive(id, now, out);
    }

    /// Threads here that must not stay go elsewhere; a running one is called off.
    fn clear(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let goes: Vec<ThreadId> =
            self.queues[cpu.0 as usize].members.iter().copied().filter(|&id| !self.may_have(cpu, id)).collect();
        for id in goes {
            let delayed = self.thread(id).state == State::Delayed;
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
        if self.thread(id).state == State::Delayed {
            self.waker = None;
            // Linux looks at its lag before it counts what the current thread has run since it was switched to. So a waker that was
            // level with it is ahead when that is counted, and loses its CPU.
            if self.lag(id) > 0 {
                // The others have caught up and more: it starts level with them.
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
            ..0 => self.turn(id, State::Delayed, now.0),
            _ => self.remove(id, now.0),
        }
    }

    fn exit(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.leave(id, now.0, out);
        self.turn(id, State::Blocked, now.0);
        self.thread_mut(id).load = Load::GONE;
    }

    fn yields(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let cpu = self.leave(id, now.0, out);
        self.queue(cpu).members.push(id);
        self.turn(id, State::Ready, now.0);
        if !self.may_have(cpu, id) {
            self.remove(id, now.0);
            self.moves(id, now.0, out);
        }
    }

    fn pick(&mut self, now: Cycles, cpu: CpuId, _: &mut Vec<Decision>) -> Option<ThreadId> {
        let next = loop {
            match self.best(cpu, false) {
                // Its debt is paid: now it is gone.
                Some(id) if self.thread(id).state == State::Delayed => {
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
            self.turn(id, State::Running, now.0);
            let thread = self.thread_mut(id);
            (thread.fresh, thread.protected) = (false, thread.deadline);
        }
        let queue = self.queue(cpu);
        (queue.current, queue.pulls) = (next, false);
        // Who comes onto an idle CPU is not charged what it takes to rouse that, nor the time in which it was off.
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
        if self.thread(id).state != State::Blocked && !affinity.has(cpu) {
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
