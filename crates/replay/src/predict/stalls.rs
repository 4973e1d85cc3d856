//! Recorded stalls that the simulated machine makes itself.
//!
//! Many stalls of a recording are interrupts: the clock's, and those of wake-ups, which reach the CPU
//! that runs a holder. The simulated machine has the same interrupts by the chip's figures, but where
//! the run at hand has them: a lock under which threads seldom sleep has few wake-ups. If the recorded
//! interrupts were drawn as well, they would count twice, and each lock would pay for the recorded
//! lock's wake-ups. So a run of the recorded lock without any drawn stall shows how many of the
//! recorded stalls the machine makes itself, and only the others are drawn.

use crate::compile::stalls::LEAST_NS;
use crate::program::Stalls;
use baton_units::{Cycles, Hertz};
use std::collections::BTreeMap;

/// A stall and an interrupt are the same kind if neither is longer than this many times the other.
const ALIKE: u64 = 2;

/// Returns the stalls without one of the same kind for each interrupt of `made` that counts as a stall.
/// The stall that is closest to the interrupt in length goes.
pub(super) fn without(stalls: &Stalls, made: &[u64], clock: Hertz) -> Stalls {
    let least = (clock.0 as f64 * LEAST_NS * 1e-9) as u64;
    let mut left: BTreeMap<u64, u64> = BTreeMap::new();
    stalls.cycles.iter().for_each(|&cycles| *left.entry(cycles).or_default() += 1);
    for &interrupt in made.iter().filter(|&&cycles| cycles > least) {
        let below = left.range(..=interrupt).next_back().map(|(&cycles, _)| cycles);
        let above = left.range(interrupt..).next().map(|(&cycles, _)| cycles);
        let alike = |&cycles: &u64| cycles <= interrupt * ALIKE && interrupt <= cycles * ALIKE;
        let closest = below.into_iter().chain(above).filter(alike).min_by_key(|cycles| cycles.abs_diff(interrupt));
        if let Some(closest) = closest {
            match left.get_mut(&closest) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(left.remove(&closest)),
            }
        }
    }
    let is_left = |cycles: &&u64| {
        let Some(count) = left.get_mut(cycles) else { return false };
        let more = *count != 0;
        *count -= u64::from(more);
        more
    };
    Stalls { holds: stalls.holds, cycles: stalls.cycles.iter().filter(is_left).copied().collect() }
}

/// Returns the note about the stalls of a recording, of which `drawn` are drawn, if there are any.
pub(super) fn note(recorded: &Stalls, drawn: &Stalls, clock: Hertz) -> Option<String> {
    let longest = clock.nanos(Cycles(*recorded.cycles.iter().max()?)).0;
    let (all, drawn) = (recorded.cycles.len(), drawn.cycles.len());
    let which = match all - drawn {
        0 => "each seed draws these".to_owned(),
        made => format!(
            "{made} of these are interrupts, which the simulated machine has itself; each seed draws the others"
        ),
    };
    Some(format!(
        "{all} of {} holds lasted more than a microsecond beyond their usual length, up to {:.1} µs: {which} anew at other \
         places ({:.2} in a thousand holds)",
        recorded.holds,
        longest as f64 * 1e-3,
        drawn as f64 / recorded.holds.max(1) as f64 * 1e3
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(recorded: &[u64], made: &[u64]) -> Vec<u64> {
        let stalls = Stalls { holds: 1_000, cycles: recorded.to_vec() };
        without(&stalls, made, Hertz(1_000_000_000)).cycles
    }

    #[test]
    fn an_interrupt_takes_the_stall_that_is_most_like_it() {
        assert_eq!(left(&[9_000, 15_000, 30_000, 15_000], &[14_000]), [9_000, 15_000, 30_000]);
        assert_eq!(left(&[9_000, 15_000], &[15_000, 15_000, 15_000]), Vec::<u64>::new(), "9,000 is of its kind");
        assert_eq!(left(&[3_000, 70_000], &[15_000, 33_000]), [3_000, 70_000], "none is of this kind");
        assert_eq!(left(&[1_100], &[900]), [1_100], "too short to count as a stall");
    }

    #[test]
    fn the_note_tells_which_stalls_are_drawn() {
        let stalls = |cycles: &[u64]| Stalls { holds: 1_000, cycles: cycles.to_vec() };
        let clock = Hertz(1_000_000_000);
        assert_eq!(note(&stalls(&[]), &stalls(&[]), clock), None);
        let all = note(&stalls(&[5_000, 9_000]), &stalls(&[5_000, 9_000]), clock).unwrap();
        assert!(all.starts_with("2 of 1000 holds") && all.contains("each seed draws these anew"), "{all}");
        let some = note(&stalls(&[5_000, 9_000]), &stalls(&[5_000]), clock).unwrap();
        assert!(some.contains("1 of these are interrupts") && some.contains("1.00 in a thousand"), "{some}");
    }
}
