//! Run queues for placements: makes a [`Scheduler`] from any [`Placement`].
//!
//! Each CPU has a queue; the thread that has waited longest runs next, for one time slice if
//! another waits. A thread that wakes goes to the CPU to which the placement moves it. Otherwise it
//! goes to the CPU on which it ran if that is free (its caches are warm), otherwise to the nearest
//! idle CPU, otherwise it waits where it ran. A thread that would enter a queue that is longer by
//! two or more than another goes to the shorter one. A CPU with an empty queue asks the placement,
//! and then takes a waiting thread from the longest queue.
//!
//! A running thread that the placement moves is preempted, and enters no other queue before it has
//! lost its CPU. A swap of running threads is two preemptions, and a CPU may be idle between them;
//! it takes no thread from other queues while a thread is bound for it.

mod calls;
mod queues;

use super::account::Accounts;
use super::kinds::Kinds;
use super::{Answer, Event, Placement};
use crate::{Affinity, AppId, Cpus, Decision, Params, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// The thread is in no queue: it is blocked, or is about to enter a queue.
    Blocked,
    Ready,
    Running,
}

struct Thread {
    app: AppId,
    affinity: Affinity,
    cpu: CpuId,
    state: ThreadState,
    /// The CPU to which the thread goes when it has lost its own.
    bound_for: Option<CpuId>,
    /// The time since which the thread waits, and the number of its entry into a queue, which
    /// breaks ties.
    waits: (u64, u64),
    /// The CPU on which the thread ran last.
    last: Option<CpuId>,
    /// Whether the placement has just moved the thread, which is in no queue yet.
    moved: bool,
    /// Whether the thread has never been in a queue.
    fresh: bool,
}

#[derive(Default)]
struct Queue {
    current: Option<ThreadId>,
    /// The time at which the current thread began to run; `None` while the CPU switches.
    since: Option<u64>,
    /// The time up to which the current thread's run time is accounted for.
    accounted: u64,
    ready: VecDeque<ThreadId>,
    /// Number of threads that run elsewhere and are bound for this CPU.
    awaits: u32,
    off: bool,
    timer: bool,
    steals: u64,
}

/// A placement with run queues, which make it a scheduler.
pub struct Adapter {
    cpus: Cpus,
    kinds: Kinds,
    slice: u64,
    placement: Box<dyn Placement>,
    threads: Vec<Option<Thread>>,
    queues: Vec<Queue>,
    entered: u64,
    accounts: Accounts,
    answers: Vec<Answer>,
}

impl Adapter {
    /// Creates the run queues of a machine on which all CPUs are on and idle.
    pub fn new(cpus: &Cpus, params: &Params, placement: Box<dyn Placement>) -> Adapter {
        Adapter {
            cpus: cpus.clone(),
            kinds: Kinds::new(cpus),
            slice: params.time_slice.0,
            placement,
            threads: Vec::new(),
            queues: cpus.ids().map(|_| Queue::default()).collect(),
            entered: 0,
            accounts: Accounts::default(),
            answers: Vec::new(),
        }
    }

    /// Creates the run queues as a boxed [`Scheduler`], for the registry.
    pub fn boxed(cpus: &Cpus, params: &Params, placement: Box<dyn Placement>) -> Box<dyn Scheduler> {
        Box::new(Adapter::new(cpus, params, placement))
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

    /// Tells the placement of an event and carries out its answers.
    fn tell(&mut self, now: u64, event: &Event, out: &mut Vec<Decision>) {
        let mut answers = std::mem::take(&mut self.answers);
        self.placement.hears(Cycles(now), event, &mut answers);
        for &answer in &answers {
            self.carry_out(now, answer, out);
        }
        answers.clear();
        self.answers = answers;
    }

    fn carry_out(&mut self, now: u64, answer: Answer, out: &mut Vec<Decision>) {
        match answer {
            Answer::Move(id, to) => self.send(id, to, now, out),
            Answer::Swap(a, b) => {
                let (here, there) = (self.thread(a).cpu, self.thread(b).cpu);
                for id in [a, b] {
                    let app = self.thread(id).app;
                    self.accounts.of(app).had.swaps += 1;
                }
                self.send(a, there, now, out);
                self.send(b, here, now, out);
            }
            Answer::Class(app, class) => self.accounts.of(app).set_class(class, now),
            Answer::Demoted(app) => self.accounts.of(app).had.demotions += 1,
            Answer::Period(at) => out.push(Decision::Alarm(at)),
            Answer::NoPeriod => out.push(Decision::NoAlarm),
        }
    }

    /// Sends a thread to another CPU.
    fn send(&mut self, id: ThreadId, to: CpuId, now: u64, out: &mut Vec<Decision>) {
        if !self.may_have(to, id) {
            return;
        }
        let (state, from) = (self.thread(id).state, self.thread(id).cpu);
        match state {
            ThreadState::Blocked => {
                let thread = self.thread_mut(id);
                (thread.cpu, thread.moved) = (to, true);
            }
            ThreadState::Ready => {
                self.queue(from).ready.retain(|&other| other != id);
                self.enqueue(id, to, now, out);
            }
            ThreadState::Running => {
                self.unbind(id, out);
                self.thread_mut(id).bound_for = Some(to);
                self.queue(to).awaits += 1;
                out.push(Decision::Preempt(from));
            }
        }
    }

    /// Cancels the move of a thread that is bound for another CPU; the CPU that awaited it looks
    /// for another thread.
    fn unbind(&mut self, id: ThreadId, out: &mut Vec<Decision>) {
        let Some(to) = self.thread_mut(id).bound_for.take() else { return };
        let there = self.queue(to);
        there.awaits -= 1;
        if there.current.is_none() {
            out.push(Decision::Start(to));
        }
    }

    /// Adds the running thread's time up to now to its application's account.
    fn account(&mut self, cpu: CpuId, now: u64) {
        let fast = self.kinds.is_fast(cpu);
        let queue = self.queue(cpu);
        let (Some(id), Some(_)) = (queue.current, queue.since) else { return };
        let time = now - std::mem::replace(&mut queue.accounted, now);
        let app = self.thread(id).app;
        let had = &mut self.accounts.of(app).had;
        *if fast { &mut had.fast } else { &mut had.slow } += time;
    }
}
