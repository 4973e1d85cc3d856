//! The picture of threads and CPUs.

use super::account::Had;
use super::table::Table;
use crate::input::{Begins, Why};
use crate::setup::Setup;
use baton_sched::{LockNotice, ThreadId};
use baton_units::CpuId;
use std::collections::BTreeSet;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Asleep,
    /// It can run, and waits for this CPU.
    Waits(CpuId),
    Runs(CpuId),
}

/// A thread that lives.
pub(super) struct Thread {
    pub(super) begins: Begins,
    pub(super) state: State,
    /// Since when it has been in this state.
    pub(super) since: u64,
    /// Whether its mask is narrowed to fast (`true`) or slow CPUs.
    pub(super) given: Option<bool>,
    /// Why its mask last changed.
    pub(super) why: Option<Why>,
    /// Whether the placement has been told of it.
    pub(super) known: bool,
    /// The CPU on which the placement expects it, and since when.
    pub(super) bound: Option<(CpuId, u64)>,
    /// Until when the mask is not narrowed again.
    pub(super) wide_until: u64,
    /// Whether the kernel refuses to change its mask.
    pub(super) refused: bool,
    /// The lock or barrier for which it waits, and the locks that it holds, as it has told.
    pub(super) waits_for: Option<(LockNotice, u64)>,
    pub(super) holds: BTreeSet<u64>,
}

impl Thread {
    pub(super) fn new(begins: Begins, now: u64) -> Thread {
        Thread {
            begins,
            state: State::Asleep,
            since: now,
            given: None,
            why: None,
            known: false,
            bound: None,
            wide_until: 0,
            refused: false,
            waits_for: None,
            holds: BTreeSet::new(),
        }
    }
}

struct Cpu {
    current: Option<ThreadId>,
    /// Since when no thread of the run has had it, if none has.
    free_since: u64,
    /// Number of threads that run on it or wait for it.
    load: u32,
    /// Since when the load has been zero.
    idle_since: u64,
    on: bool,
    fast: bool,
}

pub(super) struct Board {
    pub(super) threads: Table,
    /// The threads that wait for a CPU, that the placement expects elsewhere, and of which the placement
    /// has not been told.
    waiting: BTreeSet<ThreadId>,
    bound: BTreeSet<ThreadId>,
    untold: BTreeSet<ThreadId>,
    /// The number of the next thread that begins.
    pub(super) next: u32,
    pub(super) had: Vec<Had>,
    cpus: Vec<Cpu>,
}

impl Board {
    pub(super) fn new(setup: &Setup) -> Board {
        let cpus = setup.cpus.0.iter().zip(&setup.usable);
        let cpu = |(cpu, &on): (&baton_sched::Cpu, &bool)| Cpu {
            current: None,
            free_since: 0,
            load: 0,
            idle_since: 0,
            on,
            fast: cpu.fast == Some(true),
        };
        Board {
            threads: Table::default(),
            waiting: BTreeSet::new(),
            bound: BTreeSet::new(),
            untold: BTreeSet::new(),
            next: 0,
            had: vec![Had::default(); setup.apps.len()],
            cpus: cpus.map(cpu).collect(),
        }
    }

    pub(super) fn is_fast(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.0 as usize].fast
    }

    /// Whether there is such a CPU, and it is on.
    pub(super) fn is_usable(&self, cpu: u32) -> bool {
        self.cpus.get(cpu as usize).is_some_and(|cpu| cpu.on)
    }

    /// Whether the CPU is on, and no known thread runs on it or waits for it.
    pub(super) fn is_idle(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu.0 as usize];
        cpu.on && cpu.load == 0
    }

    /// Number of threads that run on the CPU or wait for it.
    #[cfg(test)]
    pub(super) fn load(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.0 as usize].load
    }

    /// Yields the CPUs that have been idle since that time or longer.
    pub(super) fn idle_since(&self, since: u64) -> impl Iterator<Item = CpuId> + '_ {
        let idles = move |cpu: &Cpu| cpu.on && cpu.load == 0 && cpu.idle_since <= since;
        (0..).map(CpuId).zip(&self.cpus).filter(move |(_, cpu)| idles(cpu)).map(|(id, _)| id)
    }

    /// The thread that has the CPU.
    pub(super) fn current(&self, cpu: CpuId) -> Option<ThreadId> {
        self.cpus[cpu.0 as usize].current
    }

    /// Whether the thread waits for a kind of CPUs that no thread of the run has had since that time:
    /// other programs have them. A CPU that a thread has just left is about to be the waiting one's.
    pub(super) fn waits_for_others(&self, id: ThreadId, since: u64) -> bool {
        let State::Waits(cpu) = self.state(id) else { return false };
        let fast = self.is_fast(cpu);
        let is_others = |cpu: &Cpu| cpu.current.is_none() && cpu.free_since <= since;
        self.cpus.iter().filter(|cpu| cpu.on && cpu.fast == fast).all(is_others)
    }

    /// Switches a CPU on or off. Returns whether it was not so before.
    pub(super) fn switch(&mut self, cpu: CpuId, on: bool) -> bool {
        std::mem::replace(&mut self.cpus[cpu.0 as usize].on, on) != on
    }

    pub(super) fn add(&mut self, id: ThreadId, thread: Thread) {
        self.had[thread.begins.app.0 as usize].threads += 1;
        self.threads.insert(id, thread);
        self.untold.insert(id);
    }

    /// Removes a thread that ends. Returns what was known of it.
    pub(super) fn remove(&mut self, id: ThreadId, now: u64) -> Option<Thread> {
        self.set(id, State::Asleep, now);
        self.bound.remove(&id);
        self.untold.remove(&id);
        self.threads.remove(id)
    }

    pub(super) fn state(&self, id: ThreadId) -> State {
        self.threads.get(id).map_or(State::Asleep, |thread| thread.state)
    }

    /// Puts the thread into a state, and the time of its earlier one into the accounts.
    pub(super) fn set(&mut self, id: ThreadId, state: State, now: u64) {
        let Some(thread) = self.threads.get_mut(id) else { return };
        let before = std::mem::replace(&mut thread.state, state);
        let time = now - std::mem::replace(&mut thread.since, now);
        let app = thread.begins.app.0 as usize;
        charge(&mut self.had[app], before, time, |cpu| self.cpus[cpu.0 as usize].fast);
        if let State::Waits(cpu) | State::Runs(cpu) = before {
            let cpu = &mut self.cpus[cpu.0 as usize];
            cpu.load -= 1;
            if cpu.current == Some(id) {
                (cpu.current, cpu.free_since) = (None, now);
            }
            if cpu.load == 0 {
                cpu.idle_since = now;
            }
        }
        if let State::Waits(_) = before {
            self.waiting.remove(&id);
        }
        if let State::Waits(_) = state {
            self.waiting.insert(id);
        }
        if let State::Waits(cpu) | State::Runs(cpu) = state {
            let runs = state == State::Runs(cpu);
            let cpu = &mut self.cpus[cpu.0 as usize];
            cpu.load += 1;
            if runs {
                cpu.current = Some(id);
            }
        }
    }

    /// Notes that the placement expects the thread on another CPU.
    pub(super) fn bind(&mut self, id: ThreadId, to: CpuId, now: u64) {
        if let Some(thread) = self.threads.get_mut(id) {
            let since = thread.bound.map_or(now, |(_, since)| since);
            thread.bound = Some((to, since));
            self.bound.insert(id);
        }
    }

    pub(super) fn unbind(&mut self, id: ThreadId) {
        if self.bound.remove(&id) {
            self.threads.get_mut(id).into_iter().for_each(|thread| thread.bound = None);
        }
    }

    pub(super) fn is_bound(&self, id: ThreadId) -> bool {
        self.bound.contains(&id)
    }

    /// Notes that the placement is told of a thread. Returns whether it is told for the first time.
    pub(super) fn is_told(&mut self, id: ThreadId) -> bool {
        self.threads.get_mut(id).into_iter().for_each(|thread| thread.known = true);
        self.untold.remove(&id)
    }

    /// The threads that wait for a CPU, by their numbers.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.of(&self.waiting)
    }

    /// The threads of which the placement has not been told, by their numbers.
    pub(super) fn untold(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.of(&self.untold)
    }

    fn of<'a>(&'a self, ids: &'a BTreeSet<ThreadId>) -> impl Iterator<Item = (ThreadId, &'a Thread)> {
        ids.iter().filter_map(|&id| Some((id, self.threads.get(id)?)))
    }

    /// Whether a move is under way, or a thread waits while a CPU idles.
    pub(super) fn is_restless(&self) -> bool {
        !self.bound.is_empty() || (!self.waiting.is_empty() && self.cpus.iter().any(|cpu| cpu.on && cpu.load == 0))
    }

    /// The CPU for which a thread waits that was last seen at `cpu`. If its mask does not have this
    /// kind of CPU, the kernel has moved the thread to one that the mask has: where the placement
    /// expects the thread, or if it expects it nowhere, most likely the CPU with the fewest threads.
    pub(super) fn queue(&self, id: ThreadId, cpu: CpuId) -> CpuId {
        let Some(thread) = self.threads.get(id) else { return cpu };
        let Some(fast) = thread.given.filter(|&fast| fast != self.is_fast(cpu)) else { return cpu };
        let may_have = |cpu: &CpuId| self.is_usable(cpu.0) && self.is_fast(*cpu) == fast;
        let bound = thread.bound.map(|(to, _)| to).filter(may_have);
        let user = thread.begins.cpus.iter().copied().map(CpuId).filter(may_have);
        bound.or_else(|| user.min_by_key(|cpu| self.cpus[cpu.0 as usize].load)).unwrap_or(cpu)
    }

    /// The threads that have been expected on another CPU for at least this time.
    pub(super) fn late(&self, now: u64, time: u64) -> Vec<ThreadId> {
        let is_late = |thread: &Thread| thread.bound.is_some_and(|(_, since)| now - since >= time);
        self.of(&self.bound).filter(|(_, thread)| is_late(thread)).map(|(id, _)| id).collect()
    }

    /// What the applications had, including the states in which their threads are.
    pub(super) fn had(&self, now: u64) -> Vec<Had> {
        let mut had = self.had.clone();
        for (_, thread) in self.threads.iter() {
            let app = thread.begins.app.0 as usize;
            charge(&mut had[app], thread.state, now - thread.since, |cpu| self.is_fast(cpu));
        }
        had
    }
}

fn charge(had: &mut Had, state: State, time: u64, is_fast: impl Fn(CpuId) -> bool) {
    // The times of a log's threads may be long.
    let add = |sum: &mut u64| *sum = sum.saturating_add(time);
    match state {
        State::Asleep => {}
        State::Waits(_) => add(&mut had.waits_ns),
        State::Runs(cpu) if is_fast(cpu) => add(&mut had.fast_ns),
        State::Runs(_) => add(&mut had.slow_ns),
    }
}
