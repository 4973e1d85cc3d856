//! Chooses by utilisation, like Linux's governor of that name: the slowest level that is not below
//! this clock, or the fastest level if all are below it:
//!
//! ```text
//! 1.25 × fastest × utilisation
//! ```
//!
//! The utilisation does not depend on the clock: it is the share of the period in which the CPU had
//! a thread, times the CPU's clock divided by its fastest clock. A CPU that spins or waits for
//! memory counts as busy, like one that computes. Linux's utilisation is a decaying average over
//! some 32 ms; here it is that of the last period.

use super::{Governed, Governor, GovernorInfo, Level, Period, Sample};
use baton_units::{Cycles, Hertz};

/// The governor's row in the registry.
pub const GOVERNOR: GovernorInfo = GovernorInfo {
    name: "schedutil",
    what: "the slowest level that is not below 1.25 times what the CPU was busy with",
    source: "Linux: Documentation/admin-guide/pm/cpufreq.rst, schedutil: 1.25 * f_0 * util / max",
    needs_prices: false,
    make: |governed| Box::new(Utilisation(governed.clone())),
};

struct Utilisation(Governed);

impl Governor for Utilisation {
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz> {
        let all = self.0.levels.iter().zip(period.samples);
        all.map(|(levels, sample)| level(levels, sample, period.length)).collect()
    }
}

/// Returns the clock for a CPU with this sample in a period of this length.
fn level(levels: &[Level], sample: &Sample, length: Cycles) -> Hertz {
    let busy = length.0.saturating_sub(sample.spent.idle.0);
    // The fastest clock cancels out: 1.25 × fastest × (busy / length) × (clock / fastest).
    let wanted = u128::from(busy) * u128::from(sample.clock.0) * 5;
    let enough = |level: &&Level| u128::from(level.clock.0) * u128::from(length.0) * 4 >= wanted;
    levels.iter().find(enough).or(levels.last()).map_or(sample.clock, |level| level.clock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::{Microwatts, Spent};

    fn levels() -> Vec<Level> {
        let (active, spinning) = (Microwatts(0), Microwatts(0));
        [1_000, 1_500, 2_000].map(|clock| Level { clock: Hertz(clock), active, spinning }).to_vec()
    }

    fn at(clock: u64, idle: u64) -> u64 {
        let spent = Spent { computing: Cycles(1000 - idle), idle: Cycles(idle), ..Spent::default() };
        level(&levels(), &Sample { clock: Hertz(clock), has_thread: true, spent }, Cycles(1000)).0
    }

    #[test]
    fn the_tipping_points_are_at_four_fifths_of_a_level() {
        // At 2000, 1.25 × 2000 × 0.4 is exactly the slowest level, and one more busy cycle is above
        // it.
        assert_eq!([at(2000, 600), at(2000, 599)], [1000, 1500]);
        assert_eq!([at(2000, 400), at(2000, 399)], [1500, 2000]);
        // At half of the clock, the same work keeps the CPU busy for twice as long, so the
        // utilisation is the same.
        assert_eq!([at(1000, 200), at(1000, 199)], [1000, 1500]);
        assert_eq!([at(1000, 0), at(1500, 0), at(2000, 0)], [1500, 2000, 2000]);
        assert_eq!(at(2000, 1000), 1000);
    }
}
