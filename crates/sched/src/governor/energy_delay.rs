//! Predicts, for each level, the time and energy that the last period's work would take at it, and
//! chooses the level with the least energy × delay, or by another [`Goal`](super::Goal).
//!
//! For a CPU that had the clock `f`, let `C` be the cycles in which it computed, `M` those in which
//! it waited for memory and `S` those in which it spun, all in reference cycles. At a level with
//! the clock `g`, its work takes
//!
//! ```text
//! T(g) = C × f/g + M
//! ```
//!
//! because computing scales with the clock and memory does not. It takes the energy
//!
//! ```text
//! E(g) = T(g) × (active(g) + R) + S × spinning(g)
//! R    = (base × length + energy of all CPUs that spun, stood still or had no thread) / work of
//! all CPUs
//! ```
//!
//! `active` and `spinning` are the chip's prices at that clock, which include the part that a
//! slower clock does not reduce, and the exponent. `R` is the energy that the rest of the machine
//! takes per cycle of work: a CPU that works alone while others wait is charged all of it, one of
//! many that work is charged its share. So work is assumed to be on the path for which all wait,
//! and waiting to last until others have done their work. The chosen level has the least
//! `E(g) × T(g)^n`, where `n` is 0 for `energy`, 1 for `energy-delay`, 2 for `energy-delay2`; among
//! equals, it is the fastest.
//!
//! A CPU that neither computed nor waited for memory gets the slowest level if it spun, and keeps
//! its clock otherwise. All results are products, sums and quotients of doubles in a fixed order,
//! which are the same on every host.

use super::{Governed, Governor, GovernorInfo, Level, Period, Sample};
use baton_units::Hertz;

/// The governor's row in the registry.
pub const GOVERNOR: GovernorInfo = GovernorInfo {
    name: "energy-delay",
    what: "the level with the least predicted energy × delay (os.governor_goal), by the share of time that waits for memory",
    source: "-",
    needs_prices: true,
    make: |governed| Box::new(Predicts(governed.clone())),
};

struct Predicts(Governed);

impl Governor for Predicts {
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
        let rest = rest(&self.0, period);
        let power = self.0.goal.power();
        let all = self.0.levels.iter().zip(period.samples);
        all.map(|(levels, sample)| level(levels, sample, rest, power)).collect()
    }
}

/// The CPU's work in reference cycles: computing and waiting for memory.
fn worked(sample: &Sample) -> f64 {
    sample.spent.computing.0 as f64 + sample.spent.memory.0 as f64
}

/// Returns the slowest level whose clock is at least `clock`, or the fastest level if none is.
fn at_least(levels: &[Level], clock: Hertz) -> Option<&Level> {
    levels.iter().find(|level| level.clock >= clock).or(levels.last())
}

/// The energy that the rest of the machine takes per cycle of work, in microwatts.
fn rest(governed: &Governed, period: &Period<'_>) -> f64 {
    let mut taken = governed.unclocked.base.0 as f64 * period.length.0 as f64;
    let mut work = 0.0;
    for (levels, sample) in governed.levels.iter().zip(period.samples) {
        let spinning = at_least(levels, sample.clock).map_or(0, |level| level.spinning.0);
        taken += spinning as f64 * sample.spent.spinning.0 as f64;
        taken += governed.unclocked.still.0 as f64 * sample.spent.still.0 as f64;
        taken += governed.unclocked.idle.0 as f64 * sample.spent.idle.0 as f64;
        work += worked(sample);
    }
    if work > 0.0 { taken / work } else { 0.0 }
}

/// The time that the sample's work takes at a clock, in reference cycles.
fn time(sample: &Sample, clock: Hertz) -> f64 {
    sample.spent.computing.0 as f64 * sample.clock.0 as f64 / clock.0 as f64 + sample.spent.memory.0 as f64
}

/// The quantity to minimize: energy times delay to the power `power`.
fn score(level: &Level, sample: &Sample, rest: f64, power: u32) -> f64 {
    let time = time(sample, level.clock);
    let energy = time * (level.active.0 as f64 + rest) + sample.spent.spinning.0 as f64 * level.spinning.0 as f64;
    (0..power).fold(energy, |product, _| product * time)
}

/// Returns the level's clock for a CPU with this sample, if the rest of the machine takes `rest`
/// per cycle of work.
fn level(levels: &[Level], sample: &Sample, rest: f64, power: u32) -> Hertz {
    let works = worked(sample) > 0.0;
    if !works {
        let kept = if sample.spent.spinning.0 > 0 { levels.first() } else { at_least(levels, sample.clock) };
        return kept.map_or(sample.clock, |level| level.clock);
    }
    let scored = levels.iter().rev().map(|level| (score(level, sample, rest, power), level.clock));
    // Levels come from the fastest down, so the fastest of equal ones stays.
    let least = scored.reduce(|best, next| if next.0 < best.0 { next } else { best });
    least.map_or(sample.clock, |(_, clock)| clock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::{Goal, Microwatts, Spent, Unclocked};
    use baton_units::Cycles;

    /// A CPU that takes 10 W at 2 GHz, 4 W of it fixed. With the clock's first power, 7 W remain at
    /// half of the clock.
    fn levels() -> Vec<Level> {
        let at = |clock: u64, watts: u64| {
            let watts = Microwatts(watts * 1_000_000);
            Level { clock: Hertz(clock), active: watts, spinning: watts }
        };
        vec![at(1_000_000_000, 7), at(2_000_000_000, 10)]
    }

    fn governed(base: u64, cpus: usize, goal: Goal) -> Governed {
        let unclocked = Unclocked { base: Microwatts(base * 1_000_000), ..Unclocked::default() };
        Governed { levels: vec![levels(); cpus], unclocked, goal }
    }

    fn sample(computing: u64, memory: u64, spinning: u64) -> Sample {
        let spent = Spent {
            computing: Cycles(computing),
            memory: Cycles(memory),
            spinning: Cycles(spinning),
            ..Spent::default()
        };
        Sample { clock: Hertz(2_000_000_000), has_thread: true, spent }
    }

    fn decides(governed: Governed, samples: &[Sample]) -> Vec<u64> {
        let period = Period { length: Cycles(1000), running: samples.len() as u32, samples };
        Predicts(governed).decide(&period).into_iter().map(|clock| clock.0 / 1_000_000_000).collect()
    }

    #[test]
    fn computing_goes_by_the_clock_and_memory_does_not() {
        let clocks = [1_000_000_000, 2_000_000_000].map(Hertz);
        assert_eq!(clocks.map(|clock| time(&sample(600, 400, 99), clock)), [1600.0, 1000.0]);
        // The sample was measured at the slow clock. The time predicted for the fast clock is that
        // of the same work when it was measured there.
        let slow = Sample { clock: Hertz(1_000_000_000), ..sample(1200, 400, 0) };
        assert_eq!(clocks.map(|clock| time(&slow, clock)), [1600.0, 1000.0]);
    }

    /// A CPU that computes for the part x of its time takes 1 + x times as long at the slow clock,
    /// at 7 W and not 10 W. Without a base, the least energy is at the slow clock up to x = 3/7,
    /// where (1 + x) × 7 = 10. Energy × delay is least there up to x = 0.195, where (1 + x)² × 7 =
    /// 10, and energy × delay² up to x = 0.126, where (1 + x)³ × 7 = 10.
    #[test]
    fn each_goal_turns_where_the_formula_says() {
        for (goal, slow, fast) in
            [(Goal::Energy, 428, 429), (Goal::EnergyDelay, 195, 196), (Goal::EnergyDelay2, 126, 127)]
        {
            let at = |computing| decides(governed(0, 1, goal), &[sample(computing, 1000 - computing, 0)]);
            assert_eq!((at(slow), at(fast)), (vec![1], vec![2]), "{goal:?}");
        }
    }

    /// The base makes delay expensive: for a CPU that computes for the part x of its time, the
    /// governor compares (1 + x) × (7 + base) at the slow clock with 10 + base at the fast one. Two
    /// CPUs that work are each charged half of the base.
    #[test]
    fn the_base_is_shared_by_those_that_work() {
        let alone = |computing| decides(governed(8, 1, Goal::Energy), &[sample(computing, 1000 - computing, 0)]);
        // Alone with a base of 8 W, the CPU takes the slow clock up to x = 1/5, where (1 + x) × (7
        // + 8) = 10 + 8. Each of two CPUs is charged 4 W, and takes the slow clock up to x = 3/11,
        // where (1 + x) × 11 = 14.
        assert_eq!((alone(199), alone(201)), (vec![1], vec![2]));
        let two = |x| decides(governed(8, 2, Goal::Energy), &[sample(x, 1000 - x, 0), sample(x, 1000 - x, 0)]);
        assert_eq!((two(272), two(273)), (vec![1, 1], vec![2, 2]));
    }

    /// The energy of CPUs that wait is charged to the one that works, and CPUs that only wait get
    /// the slow clock.
    #[test]
    fn who_works_alone_carries_those_that_wait() {
        let waiting = [sample(0, 0, 1000); 3];
        let all = |x: u64| [&[sample(x, 1000 - x, 0)][..], &waiting].concat();
        // The working CPU computes for the part x of its time. At half of the clock its work takes
        // 1 + x times as long, at 7 W and not 10 W; the three CPUs that spin are charged to it at
        // 10 W each. So it takes the slow clock up to x = 3/37, where (1 + x) × (7 + 30) = 10 + 30.
        assert_eq!(decides(governed(0, 4, Goal::Energy), &all(81)), [1, 1, 1, 1]);
        assert_eq!(decides(governed(0, 4, Goal::Energy), &all(82)), [2, 1, 1, 1]);
    }

    #[test]
    fn a_lock_that_all_spin_for_keeps_them_fast() {
        // Each of four CPUs works a quarter of the time and spins while the others work. At half of
        // the clock, the work and so the spinning of all would take twice as long.
        let all = [sample(250, 0, 750); 4];
        assert_eq!(decides(governed(0, 4, Goal::Energy), &all), [2, 2, 2, 2]);
    }

    #[test]
    fn a_cpu_that_did_nothing_keeps_its_clock() {
        let idle = Sample { has_thread: false, ..sample(0, 0, 0) };
        let slow = Sample { clock: Hertz(1_000_000_000), ..idle };
        assert_eq!(decides(governed(8, 2, Goal::EnergyDelay), &[idle, slow]), [2, 1]);
    }
}
