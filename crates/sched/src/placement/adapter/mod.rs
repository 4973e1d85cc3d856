//! Run queues for placements: a [`Scheduler`] out of any [`Placement`].
//!
//! Each CPU has a queue; the thread that has waited longest runs next, for a time slice if another waits. A thread that wakes goes
//! where the placement moves it, else to the CPU that it ran on if that is free (its caches are warm), else to the nearest idle
//! one, else it waits where it ran. A thread that enters a queue that is longer by two or more than another goes to the shorter one.
//! A CPU with an empty queue asks the placement, and then takes a waiting thread from the longest queue.
//!
//! A running thread that the placement moves is preempted, and is in no other queue before it has lost its CPU. A swap of running
//! threads is two preemptions, and a CPU may idle between them: it takes from no other queue while a thread is bound for it.

mod calls;
mod queues;

use super::account::Accounts;
use super::kinds::Kinds;
use super::{Answer, Event, Placement};
use crate::{Affinity, AppId, Cpus, Decision, Params, Scheduler, ThreadId};
use baton_units::{CpuId, Cycles};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In no queue: it is blocked, or is about to enter one.
    Blocked,
    Ready,
    Running,
}

struct Thread {
    app: AppId,
    affinity: Affinity,
    cpu: CpuId,
    state: State,
    /// Where it goes when it has lost its CPU.
    bound_for: Option<CpuId>,
    /// Since when it waits, and its number among those that entered a queue.
    waits: (u64, u64),
    /// The CPU that it ran on last.
    last: Option<CpuId>,
    /// The placement has just moved it, and it is in no queue yet.
    moved: bool,
    /// It has never been in a queue.
    fresh: bool,
}

#[derive(Default)]
struct Queue {
    current: Option<ThreadId>,
    /// When it began to run; `None` while the CPU switches.
    since: Option<u64>,
    /// Up to when its run time is accounted for.
    accounted: u64,
    ready: VecDeque<ThreadId>,
    /// Running threads elsewhere that are bound for this CPU.
    awaits: u32,
    off: bool,
    timer: bool,
    steals: u64,
}

/// A placement with run queues.
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
    /// All CPUs are on and idle.
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

    /// The same, for the registry.
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

    /// Tells the placement, and carries out what it answers.
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
            State::Blocked => {
                let thread = self.thread_mut(id);
                (thread.cpu, thread.moved) = (to, true);
            }
            State::Ready => {
                self.queue(from).ready.retain(|&other| other != id);
                self.enqueue(id, to, now, out);
            }
            State::Running => {
                self.unbind(id, out);
                self.thread_mut(id).bound_for = Some(to);
                self.queue(to).awaits += 1;
                out.push(Decision::Preempt(from));
            }
        }
    }

    /// The thread is bound for nowhere any more: the CPU that awaited it looks for another.
    fn unbind(&mut self, id: ThreadId, out: &mut Vec<Decision>) {
        let Some(to) = self.thread_mut(id).bound_for.take() else { return };
        let there = self.queue(to);
        there.awaits -= 1;
        if there.current.is_none() {
            out.push(Decision::Start(to));
        }
    }

    /// Adds the running thread's time up to now to its application's.
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
