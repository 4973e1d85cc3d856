//! The operating system at fixed prices: cores with run queues, time slices and wake-ups.
//!
//! Each core has a queue of threads that are ready; the one with the least run time runs next, as in Linux's fair
//! schedulers. A woken thread goes to the core that it ran on if that is idle, else to an idle one, the nearest first,
//! else it waits where it was; it preempts the thread that runs there if that is `os.wakeup_granularity` ahead of it. A core
//! that runs dry takes a thread from the longest queue.
//!
//! | file | holds |
//! | --- | --- |
//! | [`futex`] | who sleeps on which cell |

pub(crate) mod futex;

use crate::engine::thread::{Ended, Reason, Resume, State, ThreadId, Waited};
use crate::engine::{Engine, Step, own, queue::Rank, slice, timeout};

/// A core's part of the scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct Core {
    pub(crate) current: Option<ThreadId>,
    pub(crate) ready: Vec<ThreadId>,
    idle_since: u64,
    /// The least run time that a thread here has had; a thread that slept long starts from it.
    least: u64,
    slice_armed: bool,
}

impl Engine {
    /// Run time of the thread so far.
    fn run_time(&self, id: ThreadId) -> u64 {
        let thread = &self.threads[id as usize];
        let running = !matches!(thread.state, State::Ready | State::Starting | State::Asleep | State::Done);
        thread.run_time + if running { self.now - thread.run_since } else { 0 }
    }

    /// The thread can run from now on; until now its cycles had `reason`. Whether an idle core is to run it.
    pub(crate) fn make_ready(&mut self, id: ThreadId, reason: Reason) -> bool {
        let now = self.now;
        self.counts.wakes += 1;
        let thread = &mut self.threads[id as usize];
        thread.charge(reason, now);
        thread.waits_on = None;
        thread.state = State::Ready;
        let home = thread.core;
        let core = self.choose_core(id);
        self.settle(id, home, core);
        if self.cores[core as usize].current.is_none() {
            let idle = now - self.cores[core as usize].idle_since;
            let os = &self.chip.os;
            let latency = if idle < os.idle_poll.0 { os.wake_polling } else { os.wake_idle };
            self.start(core, id, latency.0);
            return true;
        }
        self.enqueue(core, id);
        let current = self.cores[core as usize].current;
        if let Some(current) = current
            && self.run_time(current) > self.threads[id as usize].run_time + self.chip.os.wakeup_granularity.0
        {
            self.preempt(core);
        }
        false
    }

    /// Carries a thread's standing over from one core's queue to another's, and forgives it a long sleep.
    fn settle(&mut self, id: ThreadId, from: u32, to: u32) {
        let lag = self.threads[id as usize].run_time.saturating_sub(self.least(from));
        let least = self.least(to);
        self.threads[id as usize].run_time = least + lag;
    }

    /// The least run time on a core, which never falls.
    fn least(&mut self, core: u32) -> u64 {
        let present = &self.cores[core as usize];
        let here = present.ready.iter().chain(&present.current).map(|&id| self.run_time(id)).min();
        let least = self.cores[core as usize].least.max(here.unwrap_or(0));
        self.cores[core as usize].least = least;
        least
    }

    fn choose_core(&self, id: ThreadId) -> u32 {
        let thread = &self.threads[id as usize];
        let allowed = |core: &u32| thread.may_run_on(*core);
        let idle = |core: u32| self.cores[core as usize].current.is_none();
        let home = thread.core;
        if allowed(&home) && idle(home) {
            return home;
        }
        let all = 0..self.cores.len() as u32;
        let nearest = all
            .clone()
            .filter(|&core| idle(core) && allowed(&core))
            .min_by_key(|&core| self.chip.distance(self.chip.core_of(home), self.chip.core_of(core)));
        if let Some(core) = nearest {
            return core;
        }
        if allowed(&home) && thread.run_time != 0 {
            return home;
        }
        // A new thread, or one that may not stay: the shortest queue.
        all.filter(allowed).min_by_key(|&core| self.cores[core as usize].ready.len()).unwrap_or(home)
    }

    fn enqueue(&mut self, core: u32, id: ThreadId) {
        self.ready_order += 1;
        let thread = &mut self.threads[id as usize];
        thread.ready_order = self.ready_order;
        thread.core = core;
        self.cores[core as usize].ready.push(id);
        self.arm_slice(core);
    }

    /// Has the running thread's slice end if another waits for its core.
    fn arm_slice(&mut self, core: u32) {
        let here = &mut self.cores[core as usize];
        let Some(current) = here.current else { return };
        if here.slice_armed || here.ready.is_empty() || self.threads[current as usize].state == State::Starting {
            return;
        }
        here.slice_armed = true;
        let ends = self.threads[current as usize].run_since + self.chip.os.time_slice.0;
        self.queue.put(slice(core), ends.max(self.now), Rank::Next);
    }

    fn disarm_slice(&mut self, core: u32) {
        if std::mem::take(&mut self.cores[core as usize].slice_armed) {
            self.queue.cancel(slice(core));
        }
    }

    /// A time slice has ended.
    pub(crate) fn slice_ended(&mut self, core: u32) -> Step {
        self.cores[core as usize].slice_armed = false;
        if !self.cores[core as usize].ready.is_empty() {
            self.preempt(core);
        }
        Step::Handled
    }

    /// Takes the core from the thread that runs on it, at once or before its next operation.
    fn preempt(&mut self, core: u32) {
        let Some(id) = self.cores[core as usize].current else { return };
        match self.threads[id as usize].state {
            State::Working(until) => {
                self.queue.cancel(own(id));
                self.step_aside(id, Resume::Work(until - self.now), Reason::Work);
            }
            State::Spinning => {
                if self.interrupt_spin(id) {
                    self.step_aside(id, Resume::Guest, Reason::Spin);
                }
            }
            State::Monitoring => {
                self.unwatch(id);
                self.queue.cancel(own(id));
                self.threads[id as usize].ended = Ended::Interrupted;
                self.step_aside(id, Resume::Guest, Reason::Spin);
            }
            State::Running | State::Starting => self.threads[id as usize].preempt = true,
            State::Ready | State::Asleep | State::Done => unreachable!("a thread that does not run has core {core}"),
        }
    }

    /// The thread on a core goes back into that core's queue; it goes on as `resume` says.
    pub(crate) fn step_aside(&mut self, id: ThreadId, resume: Resume, reason: Reason) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(reason, now);
        thread.run_time += now - thread.run_since;
        thread.run_since = now;
        thread.state = State::Ready;
        thread.resume = resume;
        thread.preemptions += 1;
        let core = thread.core;
        self.disarm_slice(core);
        self.enqueue_behind(core, id);
        self.next(core);
    }

    fn enqueue_behind(&mut self, core: u32, id: ThreadId) {
        self.ready_order += 1;
        self.threads[id as usize].ready_order = self.ready_order;
        self.cores[core as usize].ready.push(id);
    }

    /// The running thread has left its core for good or for a sleep.
    pub(crate) fn release_core(&mut self, core: u32) {
        self.disarm_slice(core);
        if let Some(id) = self.cores[core as usize].current {
            let thread = &mut self.threads[id as usize];
            thread.run_time += self.now - thread.run_since;
            thread.run_since = self.now;
        }
        self.next(core);
    }

    /// The next thread gets the core; without one it steals, or idles.
    fn next(&mut self, core: u32) {
        let least = self.least(core);
        let last = self.cores[core as usize].current.take();
        let key = |id: &ThreadId| (self.threads[*id as usize].run_time, self.threads[*id as usize].ready_order);
        let ready = &self.cores[core as usize].ready;
        if let Some(at) = (0..ready.len()).min_by_key(|&at| key(&ready[at])) {
            let id = self.cores[core as usize].ready.swap_remove(at);
            let switch = if last == Some(id) { 0 } else { self.chip.os.context_switch.0 };
            self.start(core, id, switch);
            return;
        }
        self.cores[core as usize].least = least;
        match self.steal(core) {
            Some(id) => self.start(core, id, self.chip.os.context_switch.0),
            None => self.cores[core as usize].idle_since = self.now,
        }
    }

    /// A thread from the longest queue that may run here.
    fn steal(&mut self, core: u32) -> Option<ThreadId> {
        let may = |id: &ThreadId| self.threads[*id as usize].may_run_on(core);
        let from = (0..self.cores.len() as u32)
            .filter(|&other| other != core && self.cores[other as usize].ready.iter().any(may))
            .max_by_key(|&other| (self.cores[other as usize].ready.len(), std::cmp::Reverse(other)))?;
        let ready = &self.cores[from as usize].ready;
        // The one that has waited longest.
        let at = (0..ready.len())
            .filter(|&at| may(&ready[at]))
            .min_by_key(|&at| self.threads[ready[at] as usize].ready_order)?;
        let id = self.cores[from as usize].ready.swap_remove(at);
        self.settle(id, from, core);
        Some(id)
    }

    /// Gives the core to a thread that is ready, `latency` from now.
    fn start(&mut self, core: u32, id: ThreadId, latency: u64) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Ready, now);
        thread.state = State::Starting;
        thread.core = core;
        thread.run_since = now;
        self.cores[core as usize].current = Some(id);
        self.counts.switches += 1;
        self.queue.put(own(id), now + latency, Rank::Next);
    }

    /// The core has switched to the thread; whether its coroutine runs on now.
    pub(crate) fn started(&mut self, id: ThreadId) -> bool {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Switch, now);
        thread.run_since = now;
        thread.state = State::Running;
        let core = thread.core;
        let mut runs = true;
        if let Resume::Work(left) = std::mem::replace(&mut thread.resume, Resume::Guest) {
            runs = false;
            if std::mem::take(&mut thread.preempt) {
                self.step_aside(id, Resume::Work(left), Reason::Work);
                return runs;
            }
            thread.state = State::Working(now + left);
            self.queue.put(own(id), now + left, Rank::Next);
        }
        self.arm_slice(core);
        runs
    }

    /// A new thread, which has no core yet, can run from `at` on.
    pub(crate) fn sleep_until_start(&mut self, id: ThreadId, at: u64) {
        let thread = &mut self.threads[id as usize];
        thread.state = State::Asleep;
        thread.waits_on = Some((Waited::Time, self.now));
        self.queue.put(timeout(id), at, Rank::Next);
    }

    /// Wakes a thread from the sleep that it was in, or on its way to, when it was taken from its queue. Whether that
    /// roused an idle core.
    pub(crate) fn wake(&mut self, id: ThreadId, sleep: u64) -> bool {
        let thread = &mut self.threads[id as usize];
        if thread.futex_sleep != sleep {
            // It has given up meanwhile.
            false
        } else if thread.state == State::Asleep {
            thread.ended = Ended::Woken;
            self.queue.cancel(timeout(id));
            self.make_ready(id, Reason::Asleep)
        } else {
            // Still on its way to sleep: it will find that it need not.
            thread.woken_early = true;
            false
        }
    }

    /// The running thread sleeps until it is woken, or until `deadline`; the guest suspends.
    pub(crate) fn sleep(&mut self, on: Waited, deadline: u64) {
        let (id, now) = (self.running, self.now);
        let thread = &mut self.threads[id as usize];
        thread.state = State::Asleep;
        thread.waits_on = Some((on, now));
        thread.preempt = false;
        thread.ended = Ended::Woken;
        thread.resume = Resume::Guest;
        thread.sleeps += 1;
        thread.last_sleep = Some(now);
        let core = thread.core;
        if deadline != u64::MAX {
            self.queue.put(timeout(id), deadline.max(now), Rank::Next);
        }
        self.release_core(core);
    }
}
