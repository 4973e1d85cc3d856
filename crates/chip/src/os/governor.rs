//! The records for the governor: what each CPU did in the current period, and how long cores had
//! each clock.

use baton_chipfile::config::energy::{Price, Scaling};
use baton_chipfile::config::{Chip, CoresByKind};
use baton_sched::governor::{Governed, Governor, Level, Microwatts, Period, Sample, Spent, Unclocked};
use baton_units::{CoreId, Cycles, Hertz};
use std::collections::BTreeMap;

/// What a thread has done on CPUs so far, in reference cycles: computing, waiting for memory,
/// spinning, in idle waits.
pub(crate) type Done = [u64; 4];

/// What the threads of a CPU have done in the current period.
#[derive(Clone, Copy, Default)]
struct OfCpu {
    /// What the CPU's current thread had done when it came to the CPU, or when the period began.
    from: Done,
    /// What earlier threads did in the current period.
    spent: Done,
}

/// The record of a core.
#[derive(Clone, Copy, Default)]
struct OfCore {
    /// The time since which the core has its clock, or the beginning of the period.
    since: u64,
    /// Cycles times hertz in the current period before `since`.
    sum: u128,
}

/// How the governor set clocks in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockFigures {
    /// The name of the governor.
    pub governor: &'static str,
    /// The number of the governor's decisions.
    pub periods: u64,
    /// The number of changes of a core's clock that the governor requested.
    pub changes: u64,
    /// How long the cores in use, added up, had each clock. The sum is the run's length times the
    /// number of these cores.
    pub at: Vec<(Hertz, Cycles)>,
}

/// The governor and its records.
pub(crate) struct Governing {
    governor: Box<dyn Governor>,
    name: &'static str,
    /// The time from one decision to the next.
    pub(crate) period: u64,
    began: u64,
    cpus: Vec<OfCpu>,
    /// The record of each core of the chip.
    cores: Vec<OfCore>,
    /// The time of all cores in use, by clock in hertz.
    at: BTreeMap<u64, u64>,
    periods: u64,
    pub(crate) changes: u64,
}

impl Governing {
    /// The chip's governor, if it has one, for CPUs that are contexts of these cores.
    pub(crate) fn new(chip: &Chip, kinds: &CoresByKind, contexts: &[CoreId]) -> Option<Governing> {
        let info = chip.os.governing.governor.governor()?;
        Some(Governing {
            governor: (info.make)(&governed(chip, kinds, contexts)),
            name: info.name,
            period: chip.os.governing.period.unwrap_or(chip.os.sched.time_slice).0,
            began: 0,
            cpus: vec![OfCpu::default(); contexts.len()],
            cores: vec![OfCore::default(); chip.core.count as usize],
            at: BTreeMap::new(),
            periods: 0,
            changes: 0,
        })
    }

    /// Replaces the governor, from the beginning of the run on.
    pub(crate) fn replace(&mut self, name: &'static str, governor: Box<dyn Governor>) {
        (self.name, self.governor) = (name, governor);
    }

    /// A thread that has done `done` so far comes to a CPU.
    pub(crate) fn comes(&mut self, cpu: u32, done: Done) {
        self.cpus[cpu as usize].from = done;
    }

    /// The thread leaves the CPU, having done `done` so far.
    pub(crate) fn leaves(&mut self, cpu: u32, done: Done) {
        let here = &mut self.cpus[cpu as usize];
        // Activity that was under way at a sample may have turned out to be another since, so that
        // a sum of `done` can be lower now than it was then: that counts as no time.
        here.spent
            .iter_mut()
            .zip(done.iter().zip(here.from))
            .for_each(|(sum, (now, was))| *sum += now.saturating_sub(was));
        here.from = done;
    }

    /// A core has had this clock until now.
    pub(crate) fn had_clock(&mut self, core: CoreId, clock: Hertz, now: u64, in_use: bool) {
        let here = &mut self.cores[core.0 as usize];
        let time = now.saturating_sub(here.since);
        here.sum += u128::from(time) * u128::from(clock.0);
        here.since = now;
        if in_use {
            *self.at.entry(clock.0).or_default() += time;
        }
    }

    /// What a CPU of this core did in the period that ends now. The core's clocks must have been
    /// recorded up to now.
    fn sample(&self, cpu: usize, core: CoreId, now: u64, has_thread: bool) -> Sample {
        let length = now - self.began;
        let [computing, memory, spinning, still] = self.cpus[cpu].spent;
        let busy = computing + memory + spinning + still;
        let [computing, memory, spinning, still] = [computing, memory, spinning, still].map(Cycles);
        let idle = Cycles(length.saturating_sub(busy));
        let clock = Hertz((self.cores[core.0 as usize].sum / u128::from(length.max(1))) as u64);
        Sample { clock, has_thread, spent: Spent { computing, memory, spinning, still, idle } }
    }

    /// Ends the period. Returns the clock for each CPU. `cpus` has the core of each CPU and whether
    /// it has a thread; their work, and the clocks of all cores, must have been settled before.
    pub(crate) fn decide(&mut self, now: u64, cpus: &[(CoreId, bool)]) -> Vec<Hertz> {
        let samples: Vec<Sample> =
            cpus.iter().enumerate().map(|(cpu, &(core, has))| self.sample(cpu, core, now, has)).collect();
        let running = cpus.iter().filter(|(_, has_thread)| *has_thread).count() as u32;
        let period = Period { length: Cycles(now - self.began), running, samples: &samples };
        let clocks = self.governor.decide(&period);
        self.periods += 1;
        self.began = now;
        self.cpus.iter_mut().for_each(|cpu| cpu.spent = Done::default());
        self.cores.iter_mut().for_each(|core| core.sum = 0);
        clocks
    }

    /// How clocks were set. The clocks of all cores must have been settled up to the run's end.
    pub(crate) fn figures(&self) -> ClockFigures {
        let at = self.at.iter().map(|(&clock, &time)| (Hertz(clock), Cycles(time))).collect();
        ClockFigures { governor: self.name, periods: self.periods, changes: self.changes, at }
    }
}

/// What a governor is created with: the levels of each CPU, and their power at the chip's prices; 0
/// for prices that the chip does not state.
pub(crate) fn governed(chip: &Chip, kinds: &CoresByKind, contexts: &[CoreId]) -> Governed {
    let price = |price| chip.energy.of(price).0.unwrap_or(0.0);
    let micro = |watts: f64| Microwatts((watts * 1e6).round() as u64);
    let reference = chip.core.clock;
    let scaling = Scaling { still: price(Price::Static), exponent: price(Price::Exponent) };
    let level = |clock: Hertz| {
        let at = |state| micro(scaling.watts(price(state), clock.0 as f64 / reference.0 as f64));
        Level { clock, active: at(Price::ACTIVE), spinning: at(Price::SPIN) }
    };
    let of_core = |&core: &CoreId| {
        let levels = chip.core.clock_levels.up_to(kinds.clock(core), reference);
        levels.into_iter().map(level).collect()
    };
    let unclocked = Unclocked {
        base: micro(price(Price::Base)),
        still: micro(price(Price::MONITOR)),
        idle: micro(price(Price::IDLE)),
    };
    Governed { levels: contexts.iter().map(of_core).collect(), unclocked, goal: chip.os.governing.goal }
}
