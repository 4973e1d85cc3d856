//! The policy, and its decisions that wait to be carried out.

use baton_chipfile::config::{Chip, CoresByKind};
use baton_sched::amp::Amp;
use baton_sched::{Cpu, Cpus, Decision, FULL_SPEED, Params, Scheduler};
use baton_units::{CoreId, Hertz};
use std::collections::VecDeque;

/// The policy and the decisions that wait to be carried out.
pub(crate) struct Policy {
    pub(crate) scheduler: Box<dyn Scheduler>,
    /// The decisions of one call, kept to reuse the memory.
    pub(crate) out: Vec<Decision>,
    pub(crate) waiting: VecDeque<Decision>,
    /// Whether a caller is carrying out decisions, so that new ones wait behind the others.
    pub(crate) at_work: bool,
    /// Whether the policy's alarm is in the event queue.
    pub(crate) alarm: bool,
    /// Whether the policy listens to what threads do with locks.
    pub(crate) hears_locks: bool,
    /// Whether the kernel sees by itself what the policy wants to know of locks.
    pub(crate) sees_futexes: bool,
}

impl Policy {
    /// The chip's policy, for CPUs that are contexts of these cores.
    pub(crate) fn new(chip: &Chip, kinds: &CoresByKind, cores: &[CoreId]) -> Policy {
        Policy::made(chip, kinds, cores, &chip.os.sched.policy.policy().make)
    }

    /// The policy that `make` creates for these cores.
    pub(crate) fn made(
        chip: &Chip,
        kinds: &CoresByKind,
        cores: &[CoreId],
        make: &dyn Fn(&Cpus, &Params) -> Box<dyn Scheduler>,
    ) -> Policy {
        let cpu = |&core: &CoreId| Cpu {
            core,
            cluster: core.0 / chip.core.per_cluster,
            socket: chip.socket(core),
            kind: kinds.kind(core),
            speed: speed(kinds.clock(core), chip.core.clock),
            fast: (!chip.os.fast_cores.is_empty()).then(|| chip.os.fast_cores.contains(&core.0)),
        };
        let params = Params {
            time_slice: chip.os.sched.time_slice,
            wakeup_granularity: chip.os.sched.wakeup_granularity,
            sleeper_credit: chip.os.sched.sleeper_credit,
            balance_interval: chip.os.sched.balance_interval,
            wake_pull: (chip.os.sched.wake_pull * 1000.0).round() as u32,
            amp: Amp { swap_price: Some(swap_price(chip)), ..chip.os.sched.amp },
        };
        let cpus = Cpus(cores.iter().map(cpu).collect());
        let scheduler = make(&cpus, &params);
        let (hears_locks, sees_futexes) = (scheduler.hears_locks(), scheduler.sees_futexes());
        let (out, waiting) = (Vec::new(), VecDeque::new());
        Policy { scheduler, out, waiting, at_work: false, alarm: false, hears_locks, sees_futexes }
    }
}

/// The price of the two preemptions of a swap: what the chip's keys say, or else two interrupts, two
/// switches and two moves.
fn swap_price(chip: &Chip) -> u64 {
    let once = chip.os.interrupt.cost.0 + chip.os.context_switch.0 + chip.os.migrate.0;
    chip.os.sched.amp.swap_price.unwrap_or(2 * once)
}

/// A core's clock as policies see it: its share of the chip's fastest clock.
pub(crate) fn speed(clock: Hertz, fastest: Hertz) -> u32 {
    (u128::from(clock.0) * u128::from(FULL_SPEED) / u128::from(fastest.0.max(1))).max(1) as u32
}
