//! Virtual time: each thread's lag behind the mean of its queue, and which thread runs next.

use super::Eevdf;
use super::load::Load;
use crate::nice::ONE;
use crate::{Affinity, Born, Nice, ThreadId};
use baton_units::CpuId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    /// The thread sleeps and is in no queue.
    Blocked,
    /// The thread sleeps, but stays in its queue until the others have caught up with it.
    Delayed,
    Ready,
    Running,
}

/// What the policy knows of a thread.
pub(super) struct Entity {
    pub(super) affinity: Affinity,
    pub(super) cpu: CpuId,
    /// State of the thread; only [`Eevdf::turn`] sets it.
    pub(super) state: ThreadState,
    pub(super) load: Load,
    pub(super) nice: Nice,
    /// Virtual run time, relative to the thread's queue. `left` is the part that is not a whole
    /// cycle yet.
    pub(super) virtual_time: i64,
    left: u64,
    pub(super) deadline: i64,
    /// The deadline that the thread had when it was picked. Until this virtual time, no other
    /// thread takes its CPU while it is eligible.
    pub(super) protected: i64,
    /// How far the thread was behind the mean when it left its queue.
    pub(super) lag: i64,
    /// Whether the thread has never run.
    pub(super) fresh: bool,
    /// The time at which the thread last left a CPU.
    pub(super) ran_at: u64,
    /// A number that rises with each thread that is woken or sent to another CPU; it breaks ties.
    pub(super) order: u64,
}

impl Entity {
    pub(super) fn new(born: &Born) -> Entity {
        Entity {
            affinity: born.affinity.clone(),
            cpu: born.near,
            state: ThreadState::Blocked,
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

/// A CPU's queue, with its current thread.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) current: Option<ThreadId>,
    /// The time up to which the current thread's run time is counted; `None` while the CPU switches
    /// to the thread.
    pub(super) since: Option<u64>,
    /// The time at which the last thread left, while the CPU switches to the next one, which is
    /// charged for the switch.
    pub(super) left: Option<u64>,
    pub(super) members: Vec<ThreadId>,
    /// The mean when the queue was last not empty.
    pub(super) last: i64,
    pub(super) off: bool,
    pub(super) timer: bool,
    /// Whether a tick found this CPU idle while threads wait elsewhere. It then takes one, even if
    /// that ran recently.
    pub(super) pulls: bool,
    pub(super) steals: u64,
}

impl Entity {
    fn weight(&self) -> i128 {
        i128::from(self.nice.weight())
    }

    /// Scales a run time by the thread's weight; the result is at least 1 if the run time is.
    fn scaled(&self, run_time: i64) -> i64 {
        let scaled = (i128::from(run_time) * i128::from(ONE) / self.weight()) as i64;
        scaled.max(run_time.min(1))
    }
}

impl Eevdf {
    /// Returns the sum of the virtual times of all threads in the queue, each multiplied by its
    /// weight, and the sum of the weights.
    fn sum(&self, cpu: CpuId) -> (i128, i128) {
        let queue = &self.queues[cpu.0 as usize];
        let all = queue.members.iter().chain(&queue.current).map(|&id| self.thread(id));
        all.fold((0, 0), |(sum, weight), thread| {
            (sum + i128::from(thread.virtual_time) * thread.weight(), weight + thread.weight())
        })
    }

    /// Returns the weighted mean of the virtual times in the queue.
    pub(super) fn mean(&self, cpu: CpuId) -> i64 {
        match self.sum(cpu) {
            (_, 0) => self.queues[cpu.0 as usize].last,
            (sum, weight) => sum.div_euclid(weight) as i64,
        }
    }

    /// Returns how far a thread that is in its queue is behind the mean. A negative lag means that
    /// it is ahead, and not eligible.
    pub(super) fn lag(&self, id: ThreadId) -> i64 {
        let thread = self.thread(id);
        let (sum, weight) = self.sum(thread.cpu);
        // The difference is exact even if the mean is not a whole number, because both terms are
        // multiplied by the sum of the weights.
        let ahead = i128::from(thread.virtual_time) * weight - sum;
        let (lag, most) = ((-ahead).div_euclid(weight.max(1)) as i64, thread.scaled(2 * self.request));
        lag.clamp(-most, most)
    }

    /// Counts the current thread's run time up to now, and gives it the next deadline if its
    /// deadline has come.
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

    /// Returns the eligible thread with the earliest deadline, which may be a delayed one. With
    /// `protect`, returns the current thread as long as it is eligible and before its protected
    /// time.
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

    /// Places the thread in the queue of `cpu`, at the same distance from the mean that it had when
    /// it left a queue.
    pub(super) fn enter(&mut self, id: ThreadId, cpu: CpuId, now: u64) {
        self.charge(cpu, now);
        self.place_at(id, cpu);
    }

    /// Places a thread that stayed queued while it slept level with the others of its queue. The
    /// current thread's run time is not counted for this.
    pub(super) fn start_level(&mut self, id: ThreadId) {
        let cpu = self.thread(id).cpu;
        self.queue(cpu).members.retain(|&other| other != id);
        self.thread_mut(id).lag = 0;
        self.place_at(id, cpu);
    }

    /// Sets the thread's virtual time for the queue of `cpu`, which does not contain the thread
    /// yet, so that the thread is as far from the mean as it was in its last queue.
    fn place_at(&mut self, id: ThreadId, cpu: CpuId) {
        let (_, weight) = self.sum(cpu);
        let mean = self.mean(cpu);
        let request = self.request;
        let thread = self.thread_mut(id);
        // When the thread joins, the mean moves towards it. The lag is scaled up beforehand, so
        // that the distance is right afterwards.
        let lag = i128::from(thread.lag) * (weight + thread.weight());
        let lag = if weight == 0 { 0 } else { (lag / weight) as i64 };
        thread.cpu = cpu;
        thread.virtual_time = mean - lag;
        thread.deadline = thread.virtual_time + thread.scaled(if thread.fresh { request / 2 } else { request });
    }

    /// Removes the thread from its queue, and stores its distance from the mean.
    pub(super) fn remove(&mut self, id: ThreadId, now: u64) {
        let cpu = self.thread(id).cpu;
        self.charge(cpu, now);
        let lag = self.lag(id);
        self.queue(cpu).members.retain(|&other| other != id);
        self.thread_mut(id).lag = lag;
        self.turn(id, ThreadState::Blocked, now);
    }

    /// Records the thread's new state, and its load up to now.
    pub(super) fn turn(&mut self, id: ThreadId, state: ThreadState, now: u64) {
        let half = self.half;
        let thread = self.thread_mut(id);
        // Linux counts a sleeper in debt that stays queued as a thread that wants to run.
        thread.load.turns(now, half, state != ThreadState::Blocked);
        thread.state = state;
    }

    /// Returns the sum of the weighted loads of the threads that were on this CPU last.
    pub(super) fn all_worked(&self, cpu: CpuId, now: u64) -> u128 {
        let there = self.threads.iter().flatten().filter(|thread| thread.cpu == cpu);
        there.map(|thread| self.worked(thread, now)).sum()
    }

    /// Returns the thread's load multiplied by its weight.
    pub(super) fn worked(&self, thread: &Entity, now: u64) -> u128 {
        u128::from(thread.load.at(now, self.half)) * u128::from(thread.nice.weight())
    }

    pub(super) fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = ThreadId> + '_ {
        let members = self.queues[cpu.0 as usize].members.iter().copied();
        members.filter(|&id| self.thread(id).state == ThreadState::Ready)
    }
}
