//! Shares run time evenly, like Linux.
//!
//! Each CPU has a queue, and the thread with the least run time runs next. Run time is virtual: it
//! is carried from queue to queue as a distance from the queue's least run time, and a thread that
//! has slept is ahead by at most `sleeper_credit`. A woken thread goes to the CPU on which it ran
//! if that is idle, otherwise to an idle CPU (the nearest first, and whole idle cores before
//! siblings of busy ones), otherwise it waits where it ran. It preempts the thread that runs there
//! if it is behind it by more than `wakeup_granularity`. A CPU that runs out of threads takes the
//! thread that has waited longest from the longest queue. With a `balance_interval`, queues are
//! balanced while all CPUs are busy ([`balance`]).
//!
//! The model is the completely fair scheduler of Linux 2.6.23 and later
//! (`Documentation/scheduler/sched-design-CFS.rst`), without groups. A thread's run time counts the
//! less the larger its weight is ([`Nice`]), so that shares are in proportion to weights.

mod balance;
mod place;

use crate::{Affinity, Born, Cpus, Decision, Nice, Params, Policy, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "fair",
    what: "the thread with the least run time runs next; wake-ups seek idle CPUs, idle CPUs steal",
    source: "Linux's completely fair scheduler (2.6.23 and later), without groups",
    make: |cpus, params| Box::new(Fair::new(cpus, params)),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    Blocked,
    Ready,
    Running,
}

struct Thread {
    affinity: Affinity,
    cpu: CpuId,
    state: ThreadState,
    nice: Nice,
    /// Run time divided by weight, on the scale of the queue's `least`. `left` is the part that is
    /// not a whole cycle yet.
    run_time: u64,
    left: u64,
    /// Whether the thread has never run.
    fresh: bool,
    /// A number that rises with each entry into a queue; it breaks ties.
    order: u64,
}

#[derive(Default)]
struct Queue {
    current: Option<ThreadId>,
    /// The time at which the current thread began to run; `None` while the CPU switches.
    since: Option<u64>,
    ready: Vec<ThreadId>,
    /// The least run time of the queue's threads; it never falls. A thread that slept long starts
    /// from it, less its credit.
    least: u64,
    off: bool,
    timer: bool,
    steals: u64,
}

struct Fair {
    cpus: Cpus,
    params: Params,
    threads: Vec<Option<Thread>>,
    queues: Vec<Queue>,
    order: u64,
    /// Number of CPUs that have a thread.
    busy: usize,
    /// The time at which queues are balanced next.
    balance_at: u64,
}

impl Fair {
    fn new(cpus: &Cpus, params: &Params) -> Fair {
        Fair {
            cpus: cpus.clone(),
            params: *params,
            threads: Vec::new(),
            queues: cpus.ids().map(|_| Queue::default()).collect(),
            order: 0,
            busy: 0,
            balance_at: params.balance_interval.0,
        }
    }

    fn thread(&self, id: ThreadId) -> &Thread {
        self.threads[id.0 as usize].as_ref().expect("the thread lives")
    }

    fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        self.threads[id.0 as usize].as_mut().expect("the thread lives")
    }

    fn queue(&mut self, cpu: CpuId) -> &mut Queue {
        &mut self.queues[cpu.0 as usize]
    }

    /// Returns the thread's run time so far, and the part that is not a whole cycle.
    fn exact_run_time(&self, id: ThreadId, now: u64) -> (u64, u64) {
        let thread = self.thread(id);
        let (mut run_time, mut left) = (thread.run_time, thread.left);
        let queue = &self.queues[thread.cpu.0 as usize];
        if let Some(since) = queue.since.filter(|_| queue.current == Some(id)) {
            run_time += thread.nice.virtual_time(now - since, &mut left);
        }
        (run_time, left)
    }

    fn run_time(&self, id: ThreadId, now: u64) -> u64 {
        self.exact_run_time(id, now).0
    }

    /// Returns the least run time on a CPU, which never falls.
    fn least(&mut self, cpu: CpuId, now: u64) -> u64 {
        let queue = &self.queues[cpu.0 as usize];
        let here = queue.ready.iter().chain(&queue.current).map(|&id| self.run_time(id, now)).min();
        let least = queue.least.max(here.unwrap_or(0));
        self.queue(cpu).least = least;
        least
    }

    /// Carries a thread's distance from the least run time over from one queue to another. A thread
    /// that has slept long is ahead of the others by at most its credit.
    fn settle(&mut self, id: ThreadId, to: CpuId, now: u64) {
        let from = self.thread(id).cpu;
        let (own, there) = (self.thread(id).run_time, self.least(from, now));
        let least = self.least(to, now);
        let credit = if self.thread(id).state == ThreadState::Blocked { self.params.sleeper_credit.0 } else { 0 };
        let ahead = there.saturating_sub(own).min(credit);
        let thread = self.thread_mut(id);
        (thread.run_time, thread.cpu) = ((least + own.saturating_sub(there)).saturating_sub(ahead), to);
    }

    /// Puts the thread into the queue of its CPU.
    fn enqueue(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        self.order += 1;
        let order = self.order;
        let thread = self.thread_mut(id);
        (thread.order, thread.state) = (order, ThreadState::Ready);
        let cpu = thread.cpu;
        self.queue(cpu).ready.push(id);
        self.arm(cpu, now, out);
    }

    /// Puts the thread into the queue of a CPU to which it moved, or of its own CPU after a sleep,
    /// and lets the CPU react.
    fn arrive(&mut self, id: ThreadId, now: u64, out: &mut Vec<Decision>) {
        let cpu = self.thread(id).cpu;
        self.enqueue(id, now, out);
        match self.queues[cpu.0 as usize].current {
            None => out.push(Decision::Start(cpu)),
            Some(current) => {
                if self.run_time(current, now) > self.thread(id).run_time + self.params.wakeup_granularity.0 {
                    out.push(Decision::Preempt(cpu));
                }
            }
        }
    }

    /// Asks for a tick at the end of the running thread's slice, or at the next balancing if that
    /// comes first, if another thread waits for the CPU.
    fn arm(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let slice = self.params.time_slice.0;
        let balance_at = if self.params.balance_interval.0 == 0 { u64::MAX } else { self.balance_at };
        let queue = self.queue(cpu);
        let Some(since) = queue.since else { return };
        if queue.timer || queue.ready.is_empty() {
            return;
        }
        queue.timer = true;
        out.push(Decision::Timer(cpu, Cycles((since + slice).min(balance_at).max(now))));
    }

    /// Takes the thread off its CPU.
    fn leave(&mut self, id: ThreadId, state: ThreadState, now: u64, out: &mut Vec<Decision>) -> CpuId {
        let run_time = self.exact_run_time(id, now);
        let thread = self.thread_mut(id);
        ((thread.run_time, thread.left), thread.state) = (run_time, state);
        let cpu = thread.cpu;
        // The leaving thread still counts here for the queue's least run time, so that a thread
        // that is far behind cannot enter below it.
        self.least(cpu, now);
        let queue = self.queue(cpu);
        (queue.current, queue.since) = (None, None);
        if std::mem::take(&mut queue.timer) {
            out.push(Decision::NoTimer(cpu));
        }
        self.busy -= 1;
        cpu
    }

    /// Sends waiting threads elsewhere that may not stay on this CPU, and preempts the running
    /// thread if it may not stay.
    fn clear(&mut self, cpu: CpuId, now: u64, out: &mut Vec<Decision>) {
        let stays = |fair: &Fair, id: ThreadId| !fair.queues[cpu.0 as usize].off && fair.thread(id).affinity.has(cpu);
        let mut waiting = std::mem::take(&mut self.queue(cpu).ready);
        waiting.sort_by_key(|&id| self.thread(id).order);
        let (keep, go): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|&id| stays(self, id));
        self.queue(cpu).ready = keep;
        self.offer(cpu, out);
        for id in go {
            let to = self.choose(id);
            self.settle(id, to, now);
            self.arrive(id, now, out);
        }
        if self.queues[cpu.0 as usize].current.is_some_and(|current| !stays(self, current)) {
            out.push(Decision::Preempt(cpu));
        }
    }
}

impl Scheduler for Fair {
    fn fork(&mut self, _: Cycles, id: ThreadId, born: &Born) {
        let at = id.0 as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        self.threads[at] = Some(Thread {
            affinity: born.affinity.clone(),
            cpu: born.near,
            state: ThreadState::Blocked,
            nice: born.nice,
            run_time: 0,
            left: 0,
            fresh: true,
            order: 0,
        });
    }

    fn wake(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let to = self.choose(id);
        self.settle(id, to, now.0);
        self.arrive(id, now.0, out);
    }

    fn block(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.leave(id, ThreadState::Blocked, now.0, out);
    }

    fn exit(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        self.leave(id, ThreadState::Blocked, now.0, out);
    }

    fn yields(&mut self, now: Cycles, id: ThreadId, out: &mut Vec<Decision>) {
        let from = self.leave(id, ThreadState::Ready, now.0, out);
        if self.may_have(from, id) {
            // The caller picks from this queue next, so no CPU needs to be woken.
            self.enqueue(id, now.0, out);
        } else {
            let to = self.choose(id);
            self.settle(id, to, now.0);
            self.arrive(id, now.0, out);
        }
    }

    fn pick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) -> Option<ThreadId> {
        self.least(cpu, now.0);
        let ready = &self.queues[cpu.0 as usize].ready;
        let key = |id: ThreadId| (self.thread(id).run_time, self.thread(id).order);
        let first = (0..ready.len()).min_by_key(|&at| key(ready[at]));
        let next = match first {
            Some(at) => Some(self.queue(cpu).ready.swap_remove(at)),
            None => self.steal(cpu, now.0),
        };
        let stolen = first.is_none() && next.is_some();
        if let Some(id) = next {
            let thread = self.thread_mut(id);
            (thread.state, thread.fresh) = (ThreadState::Running, false);
            self.busy += 1;
        }
        self.queue(cpu).current = next;
        if stolen {
            self.queue(cpu).steals += 1;
            // Other waiting threads may have been about to go to this CPU; they go to the next idle
            // one instead.
            self.cpus.ids().for_each(|other| self.offer(other, out));
        } else {
            self.offer(cpu, out);
        }
        next
    }

    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        self.queue(cpu).since = Some(now.0);
        self.arm(cpu, now.0, out);
    }

    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) {
        self.queue(cpu).timer = false;
        self.balance_if_due(now.0, out);
        let slice = self.params.time_slice.0;
        let queue = self.queue(cpu);
        match queue.since {
            Some(since) if !queue.ready.is_empty() && now.0 >= since + slice => out.push(Decision::Preempt(cpu)),
            _ => self.arm(cpu, now.0, out),
        }
    }

    fn set_affinity(&mut self, now: Cycles, id: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>) {
        self.thread_mut(id).affinity = affinity.clone();
        let cpu = self.thread(id).cpu;
        if self.thread(id).state != ThreadState::Blocked && !affinity.has(cpu) {
            self.clear(cpu, now.0, out);
        } else if self.thread(id).state == ThreadState::Ready {
            // The new affinity may include an idle CPU, which then takes the waiting thread.
            self.offer(cpu, out);
        }
    }

    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>) {
        self.queue(cpu).off = !online;
        if !online {
            self.clear(cpu, now.0, out);
        } else if self.longest_for(cpu).is_some() {
            out.push(Decision::Start(cpu));
        }
    }

    fn steals(&self, cpu: CpuId) -> u64 {
        self.queues[cpu.0 as usize].steals
    }

    fn place(&self, id: ThreadId) -> CpuId {
        self.threads[id.0 as usize].as_ref().map_or(CpuId(0), |thread| thread.cpu)
    }
}
