//! Stalls within holds. A page fault, an interrupt or a preemption stretches a hold from a fraction
//! of a microsecond to many. Behind a lock that is handed over, one such hold can send all waiters
//! to sleep, and the convoy outlasts it by far. Stalls happen by chance: if they were replayed
//! where they were recorded, one recording would predict a collapse that the next recording does
//! not.
//!
//! Holds much longer than usual for their class (holds that begin at one place in the code) are
//! therefore cut to the usual length. Each seed of a replay draws stalls anew: a hold is lengthened
//! with the probability that a recorded hold stalled, by the excess of one of the stalled holds.

use super::holds::{Holds, grouped};

/// A hold counts as stalled only if it exceeds its usual length by more than this many nanoseconds.
pub(crate) const LEAST_NS: f64 = 1000.0;
/// A class with fewer holds than this has no usual length, and so no stalls.
const ENOUGH: usize = 30;

/// The usual length of a class's holds, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usual {
    /// The median length of the holds.
    pub(crate) ticks: u64,
    /// Holds longer than this count as stalled.
    pub(crate) most: u64,
}

/// Computes the usual length of each class of holds. Lengths that one hold in twenty exceeds are
/// the program's own behaviour. So a stall must exceed the median by more than `least`, and by more
/// than five times the distance from the median to the 95th percentile.
pub(crate) fn usual(holds: &Holds, least: u64) -> Vec<Usual> {
    grouped(holds, ENOUGH, |hold| hold.class as usize).into_iter().map(|ticks| of(ticks, least)).collect()
}

fn of(mut ticks: Vec<u64>, least: u64) -> Usual {
    if ticks.len() < ENOUGH {
        return Usual { ticks: u64::MAX, most: u64::MAX };
    }
    ticks.sort_unstable();
    let (median, high) = (ticks[ticks.len() / 2], ticks[ticks.len() - 1 - ticks.len() / 20]);
    Usual { ticks: median, most: median.saturating_add(least.max(5 * (high - median))) }
}

#[cfg(test)]
mod tests {
    use super::super::holds::Hold;
    use super::*;

    fn holds(ticks: impl IntoIterator<Item = u64>) -> Holds {
        let mut holds = Holds::default();
        ticks.into_iter().for_each(|ticks| holds.push(Hold { lock: 0, ticks, foreign: false, class: 0 }));
        holds
    }

    #[test]
    fn a_few_long_holds_are_stalls_and_a_second_kind_of_hold_is_none() {
        let mut few: Vec<u64> = (0..200).map(|i| 100 + i % 7).collect();
        few[50] = 5_000;
        let usual = usual(&holds(few), 1000);
        assert!((100..=106).contains(&usual[0].ticks) && usual[0].most == usual[0].ticks + 1000, "{usual:?}");
        // Every tenth hold takes 5,000 ticks instead of 100. That is the program's own behaviour,
        // and no stall.
        let two = super::usual(&holds((0..200).map(|i| if i % 10 == 0 { 5_000 } else { 100 })), 1000);
        assert!(two[0].most > 5_000, "{two:?}");
        let short = super::usual(&holds([100; 29]), 1000);
        assert_eq!(short[0].most, u64::MAX, "too few to know");
    }
}
