//! A placement by capacities and utilisation: how Linux treats chips whose CPUs differ
//! ([`linux`](crate::linux)).
//!
//! A thread **fits** a CPU if its utilisation is below `misfit_percent` of the CPU's capacity. A
//! thread that wakes gets an idle CPU, one that it fits if there is one. A running thread that does
//! not fit its CPU is a **misfit**: a bigger CPU that is idle takes it. With packing, an idle CPU
//! also takes a running thread that fits, from a CPU of lower priority. A busy CPU takes nothing,
//! so threads are never swapped.

use super::util::Util;
use super::{Answer, Board, Event, Packing, Placement};
use crate::ThreadId;
use baton_units::{CpuId, Cycles};
use std::cmp::Reverse;

/// A CPU counts as bigger than another if it has more than this many 1024ths of its capacity
/// (`capacity_greater` of Linux).
const BIGGER: u64 = 1078;

/// What is known of a thread beside the board.
#[derive(Clone, Copy, Debug)]
struct Past {
    util: Util,
    /// The CPU on which the thread ran last, or near which it was to begin.
    last: CpuId,
}

/// The placement of the policy `linux`.
pub(crate) struct Capacity {
    board: Board,
    past: Vec<Option<Past>>,
    half_life: u64,
    interval: u64,
    /// The time at which CPUs are balanced next; 0 if none is set.
    balance_at: u64,
    asked: bool,
}

impl Capacity {
    pub(crate) fn new(board: Board) -> Capacity {
        let slice = board.time_slice.max(1);
        let half_life = board.amp.util_half_life.unwrap_or(slice * 16 / 5).max(1);
        let interval = board.amp.balance_ticks.max(1) * slice;
        Capacity { board, past: Vec::new(), half_life, interval, balance_at: 0, asked: false }
    }

    fn capacity(&self, cpu: CpuId) -> u32 {
        self.board.kinds.speed(cpu)
    }

    /// The priority of a CPU for packing.
    fn priority(&self, cpu: CpuId) -> (bool, u32) {
        (self.board.kinds.is_fast(cpu), self.capacity(cpu))
    }

    fn past(&self, id: ThreadId) -> &Past {
        self.past[id.0 as usize].as_ref().expect("the thread lives")
    }

    fn util(&self, now: u64, id: ThreadId) -> u32 {
        self.past(id).util.now(now, self.half_life)
    }

    fn fits(&self, now: u64, id: ThreadId, cpu: CpuId) -> bool {
        let share = u64::from(self.capacity(cpu)) * u64::from(self.board.amp.misfit_percent);
        u64::from(self.util(now, id)) * 100 < share
    }

    /// Whether CPUs differ, so that it matters where threads are.
    fn is_asymmetric(&self) -> bool {
        let mut on = self.board.topology.ids().filter(|&cpu| self.board.kinds.is_on(cpu));
        let first = on.next().map(|cpu| self.priority(cpu));
        on.any(|cpu| Some(self.priority(cpu)) != first)
    }

    fn idle(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.board.topology.ids().filter(|&cpu| self.board.is_idle(cpu))
    }

    fn go(&mut self, id: ThreadId, to: CpuId, answers: &mut Vec<Answer>) {
        self.board.bind(id, to);
        answers.push(Answer::Move(id, to));
    }

    /// Follows which thread runs where.
    fn track(&mut self, now: u64, event: &Event) {
        let half_life = self.half_life;
        match event {
            Event::Born(id, born) => {
                let at = id.0 as usize;
                if self.past.len() <= at {
                    self.past.resize(at + 1, None);
                }
                // Nothing is known of the thread's use of CPUs, so the guess is half of the
                // capacity of the CPU near which it begins.
                let util = Util::new(now, self.capacity(born.near) / 2);
                self.past[at] = Some(Past { util, last: born.near });
            }
            Event::Runs(id, cpu) => {
                let capacity = self.capacity(*cpu);
                if let Some(past) = &mut self.past[id.0 as usize] {
                    past.util.runs(now, capacity, half_life);
                    past.last = *cpu;
                }
            }
            Event::Yields(id) | Event::Block(id) => {
                if let Some(past) = &mut self.past[id.0 as usize] {
                    past.util.runs(now, 0, half_life);
                }
            }
            // A thread that was moved off its CPU is in another queue, and does not run.
            Event::Placed(id, _) => {
                if let Some(past) = &mut self.past[id.0 as usize] {
                    past.util.runs(now, 0, half_life);
                }
            }
            Event::Exit(id) => self.past[id.0 as usize] = None,
            Event::Speed(cpu, speed) => {
                if let Some(id) = self.board.running_on(*cpu)
                    && let Some(past) = &mut self.past[id.0 as usize]
                {
                    past.util.runs(now, *speed, half_life);
                }
            }
            _ => {}
        }
    }

    /// Sends a thread that wakes to an idle CPU: the one on which it ran last if it fits there,
    /// otherwise the nearest that it fits, otherwise the one of the highest priority. With packing
    /// at wake-ups, priority comes first among the CPUs that it fits as well.
    fn wake(&mut self, now: u64, id: ThreadId, answers: &mut Vec<Answer>) {
        let last = self.past(id).last;
        let affinity = &self.board.thread(id).affinity;
        let packs = self.board.amp.packing == Packing::Wake;
        let key = |cpu: CpuId| {
            let fits = self.fits(now, id, cpu);
            let prefers = if fits && !packs { (false, 0) } else { self.priority(cpu) };
            (fits, prefers, cpu == last, Reverse(self.board.topology.distance(last, cpu)), Reverse(cpu))
        };
        let best = self.idle().filter(|&cpu| affinity.has(cpu)).max_by_key(|&cpu| key(cpu));
        if let Some(cpu) = best {
            self.go(id, cpu, answers);
        }
    }

    /// Moves to an idle CPU a thread that runs on another: the misfit with the highest utilisation,
    /// otherwise (by packing) the thread on the CPU of the lowest priority.
    fn pull(&mut self, now: u64, cpu: CpuId, answers: &mut Vec<Answer>) {
        let here = self.capacity(cpu);
        let bigger = |from: CpuId| u64::from(here) * 1024 > u64::from(self.capacity(from)) * BIGGER;
        let running = || {
            let on = |from: CpuId| self.board.running_on(from).map(|id| (id, from));
            let may = |id: ThreadId| {
                let thread = self.board.thread(id);
                thread.bound_for.is_none() && thread.affinity.has(cpu)
            };
            self.board.topology.ids().filter_map(on).filter(move |&(id, _)| may(id))
        };
        let misfits = running().filter(|&(id, from)| bigger(from) && !self.fits(now, id, from));
        let misfit = misfits.max_by_key(|&(id, _)| (self.util(now, id), Reverse(id)));
        let packs = self.board.amp.packing != Packing::Off;
        let lower = running().filter(|&(_, from)| packs && self.priority(from) < self.priority(cpu));
        let best = misfit.or_else(|| lower.min_by_key(|&(id, from)| (self.priority(from), id)));
        if let Some((id, _)) = best {
            self.go(id, cpu, answers);
        }
    }

    /// Lets all idle CPUs take what they may, the preferred CPUs first.
    fn balance(&mut self, now: u64, answers: &mut Vec<Answer>) {
        let mut idle: Vec<CpuId> = self.idle().collect();
        idle.sort_by_key(|&cpu| (Reverse(self.priority(cpu)), cpu));
        for cpu in idle {
            self.pull(now, cpu, answers);
        }
    }

    /// Whether a thread that may run on this CPU waits in a queue for a CPU; the run queues give
    /// that thread to an idle CPU.
    fn waits_for(&self, cpu: CpuId) -> bool {
        let waits = |id: ThreadId| {
            let thread = self.board.thread(id);
            thread.affinity.has(cpu)
                && thread.at.is_some_and(|at| !self.board.is_free(at) && !self.board.is_running(id))
        };
        self.board.runnable.iter().any(|&id| waits(id))
    }

    /// Asks for periodic balancing while a thread can run.
    fn ask(&mut self, now: u64, answers: &mut Vec<Answer>) {
        let needed = self.is_asymmetric() && !self.board.runnable.is_empty();
        // An event at the time of a balancing, but before it, does not postpone the balancing.
        if needed && (!self.asked || self.balance_at < now) {
            self.balance_at = (now / self.interval + 1) * self.interval;
            answers.push(Answer::Period(Cycles(self.balance_at)));
        } else if !needed && self.asked {
            answers.push(Answer::NoPeriod);
        }
        self.asked = needed;
    }
}

impl Placement for Capacity {
    fn hears(&mut self, now: Cycles, event: &Event, answers: &mut Vec<Answer>) {
        let now = now.0;
        self.board.follow(now, event);
        self.track(now, event);
        if self.is_asymmetric() {
            match event {
                Event::Wake(id) => self.wake(now, *id, answers),
                Event::Idle(cpu) if self.board.is_idle(*cpu) && !self.waits_for(*cpu) => self.pull(now, *cpu, answers),
                Event::Period if now >= self.balance_at => self.balance(now, answers),
                _ => {}
            }
        }
        if *event == Event::Period {
            self.asked = false;
        }
        // The birth of a thread moves nothing and asks for nothing.
        if !matches!(event, Event::Born(..)) {
            self.ask(now, answers);
        }
    }
}
