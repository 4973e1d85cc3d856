//! Threads come onto CPUs and leave them.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::clock::domain::Remaining;
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, Resume, ThreadState};
use crate::engine::waiting::Waited;
use crate::os::cpu::{Doing, Roused};
use baton_chipfile::config::os::WakeSpread;
use baton_sched as sched;
use baton_units::CpuId;

impl Engine {
    /// The thread can run from now on; its cycles until now get `reason`. Returns what kind of idle
    /// CPU that roused, if any.
    pub(crate) fn make_ready(&mut self, id: ThreadId, reason: Reason) -> Roused {
        let now = self.now;
        self.counts.wakes += 1;
        let thread = &mut self.threads[id as usize];
        thread.charge(reason, now);
        thread.wait.waits_on = None;
        thread.state = ThreadState::Ready;
        self.os.ready += 1;
        self.app_can_run(id, true);
        self.tell(|policy, now, out| policy.wake(now, sched::ThreadId(id), out));
        let roused = self.decide();
        self.tell_of_crowd();
        roused
    }

    /// If `cpu` is online and idle, asks the policy for a thread and begins to run it there.
    /// Returns whether there was a thread, and then how the CPU learnt of it.
    pub(crate) fn rouse(&mut self, cpu: u32) -> Roused {
        if self.os.cpus[cpu as usize].current.is_some() || !self.os.cpus[cpu as usize].online {
            return Roused::Nobody;
        }
        let Some(sched::ThreadId(id)) = self.tell(|policy, now, out| policy.pick(now, CpuId(cpu), out)) else {
            return Roused::Nobody;
        };
        let os = &self.chip.os;
        let (price, polls) = self.os.cpus[cpu as usize].wake_latency(self.now, os);
        let latency = match &os.idle.spread {
            WakeSpread(all) if all.is_empty() => price,
            spread => price * spread.thousandths(self.os.wake_noise.below(WakeSpread::DRAWS)) / 1000,
        };
        let event = self.start(cpu, id, Doing::Waking, latency);
        // A CPU that polls sees the work; a halted one must be called.
        let is_called = !polls || self.calls_pollers();
        let called = self.other_than(cpu).filter(|_| is_called).is_some_and(|from| self.send_interrupt(from, cpu));
        if is_called && self.handler_lines() != 0 {
            // The interrupt's handler runs before the thread.
            self.owes(id, 0);
        }
        if called {
            self.os.cpus[cpu as usize].wakes = Some(event - self.now);
        } else {
            self.queue.put(Event::thread(id), event, Rank::Next);
        }
        if is_called { Roused::Halted } else { Roused::Polling }
    }

    /// Takes a busy CPU from its thread, by an interrupt if a thread on another CPU is the cause.
    pub(super) fn call_off(&mut self, cpu: u32) {
        if let Some(from) = self.other_than(cpu).filter(|_| self.os.cpus[cpu as usize].current.is_some()) {
            if self.send_interrupt(from, cpu) {
                self.os.cpus[cpu as usize].called_off = true;
                return;
            }
            self.interrupt_cpu(cpu, self.chip.os.interrupt.cost.0);
        }
        self.preempt(cpu);
    }

    /// Takes the CPU from the thread that runs on it: at once, before the thread's next operation,
    /// or when the thread has released the kernel's spin locks that it holds.
    pub(crate) fn preempt(&mut self, cpu: u32) {
        let Some(id) = self.os.cpus[cpu as usize].current else { return };
        if self.threads[id as usize].os.holds != 0 {
            self.threads[id as usize].os.wanted = true;
            return;
        }
        match self.threads[id as usize].state {
            ThreadState::Working(until) => {
                self.queue.cancel(Event::thread(id));
                let left = self.rest_of(id, until);
                self.forget_still(id);
                self.step_aside(id, Resume::Work(left), Reason::Work);
            }
            ThreadState::Spinning => {
                if self.interrupt_spin(id) {
                    self.step_aside(id, Resume::Guest, Reason::Spin);
                } else {
                    self.threads[id as usize].os.leaves = true;
                }
            }
            // The interrupt ends the idle wait, and the thread gives up the CPU when it has left
            // the wait.
            ThreadState::IdleWait => {
                let thread = &mut self.threads[id as usize];
                (thread.os.preempt, thread.os.leaves) = (true, true);
                self.end_idle_wait(id, Ended::Interrupted);
            }
            ThreadState::Running if let Some(stall) = self.stalls_for_device(id) => {
                self.charge_stall(id, stall);
                self.threads[id as usize].pipeline.stall = None;
                self.step_aside(id, Resume::Guest, Reason::Device);
            }
            ThreadState::Running | ThreadState::Starting | ThreadState::Interrupted => {
                let thread = &mut self.threads[id as usize];
                (thread.os.preempt, thread.os.leaves) = (true, true);
            }
            // The thread leaves when it knows the fate of its requests.
            ThreadState::Cancelling => {}
            // The thread is about to leave, after it has woken the threads that wait for its end.
            ThreadState::Done => {}
            ThreadState::Ready | ThreadState::Asleep => unreachable!("a thread that does not run has CPU {cpu}"),
        }
    }

    /// The thread on a CPU begins to wait for a CPU, at once or when it knows the fate of its
    /// requests to devices. It will continue as `resume` says.
    pub(crate) fn step_aside(&mut self, id: ThreadId, resume: Resume, reason: Reason) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.resume = resume;
        if thread.pipeline.buffer.requests() != 0 && thread.pipeline.buffer.under_way() != 0 {
            thread.charge(reason, now);
            self.call_back_requests(id);
        } else {
            self.stand_aside(id, reason);
        }
    }

    /// The thread on a CPU begins to wait for a CPU at once; its cycles until now get `reason`.
    pub(crate) fn stand_aside(&mut self, id: ThreadId, reason: Reason) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        thread.charge(reason, now);
        thread.state = ThreadState::Ready;
        self.os.ready += 1;
        if matches!(thread.wait.waits_on, Some((Waited::Device(_), _))) {
            // The thread has looked for the device's answer, in vain.
            thread.wait.looked = now;
        }
        thread.stats.counts.preemptions += 1;
        let cpu = thread.cpu;
        self.leave(cpu, id, |policy, now, out| policy.yields(now, sched::ThreadId(id), out));
    }

    /// The thread has left its CPU, which `f` tells the policy. The next thread gets the CPU.
    pub(crate) fn leave(
        &mut self,
        cpu: u32,
        last: ThreadId,
        f: impl FnOnce(&mut dyn sched::Scheduler, baton_units::Cycles, &mut Vec<sched::Decision>),
    ) {
        self.governor_saw(cpu, last);
        let online = self.os.cpus[cpu as usize].online;
        let picked = self.tell(|policy, now, out| {
            f(policy, now, out);
            if online { policy.pick(now, CpuId(cpu), out) } else { None }
        });
        match picked {
            Some(sched::ThreadId(id)) => {
                let switch = if last == id { 0 } else { self.chip.os.context_switch.0 };
                let event = self.start(cpu, id, Doing::Switching, switch);
                self.queue.put(Event::thread(id), event, Rank::Next);
            }
            None => {
                let here = &mut self.os.cpus[cpu as usize];
                here.current = None;
                here.turn(if online { Doing::Idle } else { Doing::Off }, self.now, &self.chip.os);
                if self.chip.os.interrupt.tick.0 != 0 {
                    self.forget_timer(cpu);
                }
                self.deactivate(cpu);
            }
        }
        self.decide();
        self.tell_of_crowd();
    }

    /// Gives the CPU to a ready thread. Returns when the CPU will have switched, which takes
    /// `latency` plus the costs of a migration and of a change of the core's mode, if there are
    /// any.
    fn start(&mut self, cpu: u32, id: ThreadId, doing: Doing, latency: u64) -> u64 {
        let now = self.now;
        let here = &mut self.os.cpus[cpu as usize];
        here.turn(doing, now, &self.chip.os);
        here.current = Some(id);
        let core = here.core;
        self.meter_move(id, core);
        let thread = &mut self.threads[id as usize];
        thread.charge(Reason::Ready, now);
        thread.state = ThreadState::Starting;
        self.os.ready -= 1;
        let moved = thread.os.has_run && thread.core != core;
        (thread.cpu, thread.core, thread.os.has_run) = (cpu, core, true);
        if let Some(devices) = &mut self.devices {
            devices.switches(cpu, id, thread.os.app.0);
        }
        self.governor_sees(cpu, id);
        self.counts.switches += 1;
        self.counts.migrations += u64::from(moved);
        let counts = &mut self.os.cpus[cpu as usize].counts;
        (counts.switches, counts.migrations) = (counts.switches + 1, counts.migrations + u64::from(moved));
        self.arm_tick(cpu);
        let latency = latency + if moved { self.chip.os.migrate.0 } else { 0 };
        let mode = self.activate(cpu);
        self.share_core(core);
        now + mode + self.cores.clocks.whole(core, latency)
    }

    /// The CPU has switched to the thread. Returns whether the thread's coroutine runs now.
    pub(crate) fn started(&mut self, id: ThreadId) -> bool {
        let now = self.now;
        let cpu = self.threads[id as usize].cpu;
        let here = &mut self.os.cpus[cpu as usize];
        let reason = if here.doing == Doing::Waking { Reason::Waking } else { Reason::Switch };
        here.turn(Doing::Busy, now, &self.chip.os);
        let thread = &mut self.threads[id as usize];
        thread.charge(reason, now);
        thread.state = ThreadState::Running;
        if thread.pipeline.buffer.requests() != 0 {
            // These are requests that the thread had called back, and requests whose older stores
            // were written in the meantime.
            self.send_requests(id);
        }
        let thread = &mut self.threads[id as usize];
        let Resume::Work(left) = std::mem::replace(&mut thread.resume, Resume::Guest) else {
            self.tell(|policy, now, out| policy.runs(now, CpuId(cpu), out));
            self.decide();
            return true;
        };
        let leaves = self.computes_on(id, left);
        self.tell(|policy, now, out| policy.runs(now, CpuId(cpu), out));
        self.decide();
        if leaves {
            self.preempt(cpu);
        }
        false
    }

    /// A thread resumes the rest of its computation, after the handlers that came while it could
    /// not. Returns whether it must leave its CPU at once.
    pub(super) fn computes_on(&mut self, id: ThreadId, left: Remaining) -> bool {
        let thread = &mut self.threads[id as usize];
        let (due, handlers) = (std::mem::take(&mut thread.os.due), std::mem::take(&mut thread.os.handlers));
        if handlers != 0 {
            thread.resume = Resume::Work(left);
            self.begin_handlers(id, handlers, due);
            return false;
        }
        thread.pace.stolen += due;
        (thread.pace.still_until, thread.pace.handling) = (self.now + due, due);
        let leaves = std::mem::take(&mut thread.os.leaves);
        thread.os.preempt = false;
        let until = self.end_of(id, left);
        self.threads[id as usize].state = ThreadState::Working(until);
        self.queue.put(Event::thread(id), until, Rank::Next);
        // The thread demands its share of the core again.
        self.share_core(self.core_of(id));
        leaves
    }

    /// A new thread, which has no CPU yet, can run from `at` on.
    pub(crate) fn sleep_until_start(&mut self, id: ThreadId, at: u64) {
        let thread = &mut self.threads[id as usize];
        thread.state = ThreadState::Asleep;
        thread.wait.waits_on = Some((Waited::Time, self.now));
        self.queue.put(Event::timeout(id), at, Rank::Next);
    }

    /// Wakes a thread from the sleep with this number, which it is in or about to begin. Returns
    /// what kind of idle CPU that roused, if any.
    pub(crate) fn wake(&mut self, id: ThreadId, sleep: u64) -> Roused {
        let thread = &mut self.threads[id as usize];
        if thread.os.futex_sleep != sleep {
            // The thread has given up in the meantime.
            Roused::Nobody
        } else if thread.state == ThreadState::Asleep {
            thread.ended = Ended::Woken;
            self.queue.cancel(Event::timeout(id));
            self.wake_sleeper(id, None)
        } else {
            // The thread is still on its way to sleep, and will find that it need not.
            thread.os.woken_early = true;
            Roused::Nobody
        }
    }

    /// Tells the policy from which CPU the following wake-up comes.
    pub(super) fn tell_waker(&mut self) {
        if let Some(waker) = self.threads.get(self.running as usize) {
            self.os.policy.scheduler.waker(CpuId(waker.cpu));
        }
    }

    /// The running thread falls asleep on `on` until it is woken or `deadline` comes, unless it was
    /// killed or has a signal. In any case the caller must suspend the guest.
    pub(crate) fn sleep(&mut self, on: Waited, deadline: u64) {
        let (id, now) = (self.running, self.now);
        if self.threads[id as usize].os.signalled && self.stays_awake(on) {
            return;
        }
        let thread = &mut self.threads[id as usize];
        thread.state = ThreadState::Asleep;
        thread.wait.waits_on = Some((on, now));
        (thread.os.leaves, thread.os.wanted) = (false, false);
        thread.os.preempt = thread.os.is_due();
        thread.ended = Ended::Woken;
        thread.resume = Resume::Guest;
        thread.stats.counts.sleeps += 1;
        thread.stats.last_sleep = Some(now);
        let cpu = thread.cpu;
        if deadline != u64::MAX {
            self.queue.put(Event::timeout(id), deadline.max(now), Rank::Next);
        }
        self.app_can_run(id, false);
        self.leave(cpu, id, |policy, now, out| policy.block(now, sched::ThreadId(id), out));
    }

    /// Whether a thread is in the run queue of the running thread's CPU.
    pub(crate) fn cpu_is_wanted(&self) -> bool {
        let cpu = self.threads[self.running as usize].cpu;
        let scheduler = &self.os.policy.scheduler;
        let mut threads = (0..).zip(&self.threads);
        threads.any(|(id, thread)| thread.state == ThreadState::Ready && scheduler.place(sched::ThreadId(id)).0 == cpu)
    }
}
