//! What the policy is told, and its decisions carried out.

use crate::config::Chip;
use crate::engine::queue::Rank;
use crate::engine::{Engine, slice};
use baton_sched::{Cpu, Cpus, Decision, Params, Scheduler};
use baton_units::{CoreId, CpuId, Cycles};
use std::collections::VecDeque;

/// The policy and the decisions that wait to be carried out.
pub(crate) struct Policy {
    pub(crate) scheduler: Box<dyn Scheduler>,
    /// The answers of one call; kept for its room.
    out: Vec<Decision>,
    waiting: VecDeque<Decision>,
    /// Somebody up the stack carries decisions out: new ones wait behind the others.
    at_work: bool,
}

impl Policy {
    /// The chip's policy, for CPUs that are contexts of these cores.
    pub(crate) fn new(chip: &Chip, cores: &[CoreId]) -> Policy {
        let cpu =
            |&core: &CoreId| Cpu { core, cluster: core.0 / chip.core.per_cluster, socket: chip.socket(core), speed: 1 };
        let params = Params {
            time_slice: chip.os.time_slice,
            wakeup_granularity: chip.os.wakeup_granularity,
            sleeper_credit: chip.os.sleeper_credit,
            balance_interval: chip.os.balance_interval,
            wake_pull: (chip.os.wake_pull * 1000.0).round() as u32,
        };
        let cpus = Cpus(cores.iter().map(cpu).collect());
        let scheduler = (chip.os.scheduler.policy().make)(&cpus, &params);
        Policy { scheduler, out: Vec::new(), waiting: VecDeque::new(), at_work: false }
    }
}

impl Engine {
    /// Tells the policy something, and keeps what it decides for [`Engine::decide`].
    pub(crate) fn tell<R>(&mut self, f: impl FnOnce(&mut dyn Scheduler, Cycles, &mut Vec<Decision>) -> R) -> R {
        let policy = &mut self.policy;
        let answer = f(&mut *policy.scheduler, Cycles(self.now), &mut policy.out);
        policy.waiting.extend(policy.out.drain(..));
        answer
    }

    /// Carries out what the policy has decided, unless somebody up the stack is at it. How many CPUs were roused from
    /// idling by that.
    pub(crate) fn decide(&mut self) -> u32 {
        if self.policy.waiting.is_empty() || std::mem::replace(&mut self.policy.at_work, true) {
            return 0;
        }
        let mut roused = 0;
        while let Some(decision) = self.policy.waiting.pop_front() {
            roused += u32::from(self.carry_out(decision));
        }
        self.policy.at_work = false;
        roused
    }

    /// Whether it roused a CPU.
    fn carry_out(&mut self, decision: Decision) -> bool {
        match decision {
            Decision::Start(CpuId(cpu)) => return self.rouse(cpu),
            Decision::Preempt(CpuId(cpu)) => self.call_off(cpu),
            // A periodic tick stands for all timers.
            Decision::Timer(..) | Decision::NoTimer(_) if self.chip.os.tick.0 != 0 => {}
            Decision::Timer(CpuId(cpu), at) => {
                self.forget_timer(cpu);
                self.cpus[cpu as usize].timer = true;
                self.queue.put(slice(cpu), at.0.max(self.now), Rank::Next);
            }
            Decision::NoTimer(CpuId(cpu)) => self.forget_timer(cpu),
        }
        false
    }

    pub(super) fn forget_timer(&mut self, cpu: u32) {
        if std::mem::take(&mut self.cpus[cpu as usize].timer) {
            self.queue.cancel(slice(cpu));
        }
    }
}
