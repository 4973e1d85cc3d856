//! Tells the policy what happens, and carries out its decisions.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::engine::state::Engine;
use crate::os::cpu::Roused;
use crate::os::policy::{Policy, speed};
use baton_machine::LockNotice;
use baton_sched::{Cpus, Decision, Params, Scheduler, ThreadId};
use baton_units::{CoreId, CpuId, Cycles};

/// A thread's notice about a lock, as the scheduling crate defines it.
fn of_lock(notice: LockNotice) -> baton_sched::LockNotice {
    match notice {
        LockNotice::Wanted => baton_sched::LockNotice::Wanted,
        LockNotice::Taken => baton_sched::LockNotice::Taken,
        LockNotice::Left => baton_sched::LockNotice::Left,
        LockNotice::Arrived => baton_sched::LockNotice::Arrived,
    }
}

impl Engine {
    /// Tells the policy the notices about locks that it has not received yet, and carries out what
    /// it decides.
    pub(crate) fn tell_locks(&mut self) {
        self.tell(|_, _, _| ());
        self.decide();
    }

    /// Tells the policy the speed of a core's CPUs from now on.
    pub(crate) fn tell_speed(&mut self, core: CoreId) {
        let speed = speed(self.cores.clocks.clock(core), self.chip.core.clock);
        for cpu in 0..self.os.cpus.len() as u32 {
            if self.chip.core_of(cpu) != core {
                continue;
            }
            self.tell(|policy, now, out| policy.set_speed(now, CpuId(cpu), speed, out));
        }
        self.decide();
    }

    /// Replaces the policy, on a chip without threads.
    pub(crate) fn replace_policy(&mut self, make: &dyn Fn(&Cpus, &Params) -> Box<dyn Scheduler>) {
        assert!(self.threads.is_empty(), "the policy is replaced before the first thread is spawned");
        let cores: Vec<CoreId> = self.os.cpus.iter().map(|cpu| cpu.core).collect();
        self.os.policy = Policy::made(&self.chip, &self.cores.kinds, &cores, make);
        for cpu in 0..self.os.cpus.len() as u32 {
            if self.os.cpus[cpu as usize].online {
                continue;
            }
            self.tell(|policy, now, out| policy.set_online(now, CpuId(cpu), false, out));
        }
        self.decide();
    }

    /// Tells the policy the notices about locks that it has not received yet, then what `f` says,
    /// and keeps its decisions for [`Engine::decide`].
    pub(crate) fn tell<R>(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cycles, &mut Vec<Decision>) -> R) -> R {
        let policy = &mut self.os.policy;
        if !self.os.locks.unheard.is_empty() {
            for (id, notice, address) in self.os.locks.unheard.drain(..) {
                let (id, lock) = (ThreadId(id), address as u64);
                policy.scheduler.notify_lock(Cycles(self.now), id, of_lock(notice), lock, &mut policy.out);
            }
        }
        let answer = f(&mut *policy.scheduler, Cycles(self.now), &mut policy.out);
        policy.waiting.extend(policy.out.drain(..));
        answer
    }

    /// Carries out the policy's decisions, unless a caller is already doing so. Returns what kind
    /// of idle CPU that roused, if any; of several, the kind that costs the waker most.
    pub(crate) fn decide(&mut self) -> Roused {
        if self.os.policy.waiting.is_empty() || std::mem::replace(&mut self.os.policy.at_work, true) {
            return Roused::Nobody;
        }
        let mut roused = Roused::Nobody;
        while let Some(decision) = self.os.policy.waiting.pop_front() {
            roused = roused.max(self.carry_out(decision));
        }
        self.os.policy.at_work = false;
        roused
    }

    /// Carries out one decision. Returns what kind of idle CPU it roused, if any.
    fn carry_out(&mut self, decision: Decision) -> Roused {
        match decision {
            Decision::Start(CpuId(cpu)) => return self.rouse(cpu),
            Decision::Preempt(CpuId(cpu)) => self.call_off(cpu),
            // A periodic tick replaces all timers.
            Decision::Timer(..) | Decision::NoTimer(_) if self.chip.os.interrupt.tick.0 != 0 => {}
            Decision::Timer(CpuId(cpu), at) => {
                self.forget_timer(cpu);
                self.os.cpus[cpu as usize].timer = true;
                self.queue.put(Event::timer(cpu), at.0.max(self.now), Rank::Next);
            }
            Decision::NoTimer(CpuId(cpu)) => self.forget_timer(cpu),
            Decision::Alarm(at) => {
                self.forget_alarm();
                self.os.policy.alarm = true;
                self.queue.put(Event::ALARM, at.0.max(self.now), Rank::Next);
            }
            Decision::NoAlarm => self.forget_alarm(),
        }
        Roused::Nobody
    }

    fn forget_alarm(&mut self) {
        if std::mem::take(&mut self.os.policy.alarm) {
            self.queue.cancel(Event::ALARM);
        }
    }

    pub(super) fn forget_timer(&mut self, cpu: u32) {
        if std::mem::take(&mut self.os.cpus[cpu as usize].timer) {
            self.queue.cancel(Event::timer(cpu));
        }
    }
}
