//! Virtual time: who is how far beside the mean of its queue, and who runs next.

use super::Eevdf;
use super::load::Load;
use crate::nice::ONE;
use crate::{Affinity, Born, Nice, ThreadId};
use baton_units::CpuId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Sleeps, and is in no queue.
    Blocked,
    /// Sleeps, and stays in its queue until the others have caught up with it.
    Delayed,
    Ready,
    Running,
}

/// A thread.
pub(super) struct Entity {
    pub(super) affinity: Affinity,
    pub(super) cpu: CpuId,
    /// Set by [`Eevdf::turn`] alone.
    pub(super) state: State,
    pub(super) load: Load,
    pub(super) nice: Nice,
    /// Virtual run time, within its queue, and what is not a whole cycle of it yet.
    pub(super) virtual_time: i64,
    left: u64,
    pub(super) deadline: i64,
    /// Up to this virtual time nobody takes its CPU while it is eligible: the deadline that it had when it was picked.
    pub(super) protected: i64,
    /// How far it was behind the mean when it left its queue.
    pub(super) lag: i64,
    /// It has never run.
    pub(super) fresh: bool,
    /// When it last left a CPU.
    pub(super) ran_at: u64,
    /// When it last became ready, to break ties.
    pub(super) order: u64,
}

impl Entity {
    pub(super) fn new(born: &Born) -> Entity {
        Entity {
            affinity: born.affinity.clone(),
            cpu: born.near,
            state: State::Blocked,
            load: Load::NEW,
            nice: born.nice,
            virtual_time: 0,
            left: 0,
            deadline: 0,
            protected: 0,
            lag: 0,
            fresh: true,
            ran_at: 0,
            order: 0,
        }
    }
}

/// A CPU's queue.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) current: Option<ThreadId>,
    /// Up to when the current thread's run time is counted; `None` while the CPU switches to it.
    pub(super) since: Option<u64>,
    /// When the last thread left, while the CPU switches to the next one: that is charged the switch.
    pub(super) left: Option<u64>,
    /// Threads that are ready or delayed.
    pub(super) members: Vec<ThreadId>,
    /// The mean when the queue was last not empty.
    pub(super) last: i64,
    pub(super) off: bool,
    pub(super) timer: bool,
    /// A tick found that it idles while threads wait elsewhere: it takes one, hot or not.
    pub(super) pulls: bool,
    pub(super) steals: u64,
}

impl Entity {
    fn weight(&self) -> i128 {
        i128::from(self.nice.weight())
    }

    /// What so much run time is to it; never nothing, where there is some.
    fn scaled(&self, run_time: i64) -> i64 {
        let scaled = (i128::from(run_time) * i128::from(ONE) / self.weight()) as i64;
        scaled.max(run_time.min(1))
    }
}

impl Eevdf {
    /// Sum of the virtual times of all in the queue, each by its weight, and of the weights.
    fn sum(&self, cpu: CpuId) -> (i128, i128) {
        let queue = &self.queues[cpu.0 as usize];
        let all = queue.members.iter().chain(&queue.current).map(|&id| self.thread(id));
        all.fold((0, 0), |(sum, weight), thread| {
            (sum + i128::from(thread.virtual_time) * thread.weight(), weight + thread.weight())
        })
    }

    /// The mean of the queue.
    pub(super) fn mean(&self, cpu: CpuId) -> i64 {
        match self.sum(cpu) {
            (_, 0) => self.queues[cpu.0 as usize].last,
            (sum, weight) => sum.div_euclid(weight) as i64,
        }
    }

    /// How far a thread that is in its queue is behind the mean; below 0 it is ahead, and not eligible.
    pub(super) fn lag(&self, id: ThreadId) -> i64 {
        let thread = self.thread(id);
        let (sum, weight) = self.sum(thread.cpu);
        // Exact where the mean is no whole number.
        let ahead = i128::from(thread.virtual_time) * weight - sum;
        let (lag, most) = ((-ahead).div_euclid(weight.max(1)) as i64, thread.scaled(2 * self.request));
        lag.clamp(-most, most)
    }

    /// Counts the run time of the current thread up to now; one whose deadline has come gets the next one.
    pub(super) fn charge(&mut self, cpu: CpuId, now: u64) {
        let (request, queue) = (self.request, &mut self.queues[cpu.0 as usize]);
        if let (Some(current), Some(since)) = (queue.current, queue.since) {
            queue.since = Some(now);
            let thread = self.thread_mut(current);
            thread.virtual_time += thread.nice.virtual_time(now - since, &mut thread.left) as i64;
            if thread.virtual_time >= thread.deadline {
                thread.deadline = thread.virtual_time + thread.scaled(request);
            }
        }
        self.queue(cpu).last = self.mean(cpu);
    }

    /// The eligible thread with the earliest deadline, delayed ones among them; with `protect`, the current one as long as it
    /// is eligible and before its deadline.
    pub(super) fn best(&self, cpu: CpuId, protect: bool) -> Option<ThreadId> {
        let queue = &self.queues[cpu.0 as usize];
        if let Some(current) = queue.current.filter(|_| protect) {
            let thread = self.thread(current);
            if self.lag(current) >= 0 && thread.virtual_time < thread.protected {
                return Some(current);
            }
        }
        let eligible = queue.members.iter().chain(&queue.current).copied().filter(|&id| self.lag(id) >= 0);
        eligible.min_by_key(|&id| (self.thread(id).deadline, self.thread(id).order))
    }

    /// Puts the thread's virtual time into another queue, or its own after a sleep: as far from the mean as it was.
    pub(super) fn enter(&mut self, id: ThreadId, cpu: CpuId, now: u64) {
        self.charge(cpu, now);
        self.place_at(id, cpu);
    }

    /// Puts a thread that stayed queued while it slept level with the others of its queue, whose run time is not counted anew.
    pub(super) fn start_level(&mut self, id: ThreadId) {
        let cpu = self.thread(id).cpu;
        self.queue(cpu).members.retain(|&other| other != id);
        self.thread_mut(id).lag = 0;
        self.place_at(id, cpu);
    }

    /// The virtual time in that queue, which does not hold the thread yet, that is as far from the mean as it was.
    fn place_at(&mut self, id: ThreadId, cpu: CpuId) {
        let (_, weight) = self.sum(cpu);
        let mean = self.mean(cpu);
        let request = self.request;
        let thread = self.thread_mut(id);
        // Joining moves the mean towards it: after that it is as far away as it was.
        let lag = i128::from(thread.lag) * (weight + thread.weight());
        let lag = if weight == 0 { 0 } else { (lag / weight) as i64 };
        thread.cpu = cpu;
        thread.virtual_time = mean - lag;
        thread.deadline = thread.virtual_time + thread.scaled(if thread.fresh { request / 2 } else { request });
    }

    /// Takes the thread out of its queue, and notes how far it was from the mean.
    pub(super) fn remove(&mut self, id: ThreadId, now: u64) {
        let cpu = self.thread(id).cpu;
        self.charge(cpu, now);
        let lag = self.lag(id);
        self.queue(cpu).members.retain(|&other| other != id);
        self.thread_mut(id).lag = lag;
        self.turn(id, State::Blocked, now);
    }

    /// Notes what the thread does from now on, and what it had to do up to now.
    pub(super) fn turn(&mut self, id: ThreadId, state: State, now: u64) {
        let half = self.half;
        let thread = self.thread_mut(id);
        // Linux counts the debtor that stays queued as one that wants to run.
        thread.load.turns(now, half, state != State::Blocked);
        thread.state = state;
    }

    /// What threads that were there last have had to do of late.
    pub(super) fn all_worked(&self, cpu: CpuId, now: u64) -> u128 {
        let there = self.threads.iter().flatten().filter(|thread| thread.cpu == cpu);
        there.map(|thread| self.worked(thread, now)).sum()
    }

    /// What the thread has had to do of late, by its weight.
    pub(super) fn worked(&self, thread: &Entity, now: u64) -> u128 {
        u128::from(thread.load.at(now, self.half)) * u128::from(thread.nice.weight())
    }

    /// Threads that wait here for the CPU.
    pub(super) fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = ThreadId> + '_ {
        let members = self.queues[cpu.0 as usize].members.iter().copied();
        members.filter(|&id| self.thread(id).state == State::Ready)
    }
}
