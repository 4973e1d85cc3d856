//! What the wake-up of a sleeper cost the thread that released a lock, from the recording itself.
//!
//! A trace does not say whether a release woke a waiter. Where threads do little after a release,
//! the times from there to their next events lie in two groups: short ones without a wake-up, and
//! long ones that are a wake-up and little else. The distance between the groups is the wake-up's
//! cost on the machine at that time, and tells which releases paid it. Where the times do not lie
//! in two such groups, the chip's price counts.

use super::scale::Scale;
use super::track::Raw;
use super::walk::Walk;
use crate::program::Op;
use baton_chip::Chip;

/// Each group must have this many gaps, and the smaller one this share of all.
const ENOUGH: usize = 30;
const SHARE: usize = 20;
/// A gap is of the first group if it is shorter than the chip's price of a wake-up divided by this.
const SHORT: u64 = 4;
/// A gap of more than this many prices has other causes.
const MOST: u64 = 4;

/// At most this many gaps of a lock are kept, so that a long recording takes no more memory.
const SAMPLES: usize = 1 << 16;

/// The wake-ups that followed the releases of a lock, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wakes {
    /// A gap longer than this contains a wake-up.
    pub(crate) above: u64,
    /// The cost of the wake-up.
    pub(crate) cost: u64,
}

/// Finds the wake-ups of each lock.
pub(crate) fn of(walked: &Walk<'_>, scale: Scale, chip: &Chip) -> Vec<Option<Wakes>> {
    // A gap that was given the chip's price of a wake-up may contain one.
    let priced = chip.os.futex.wake.0;
    let price = scale.ticks(priced as f64) as u64;
    let mut gaps: Vec<Vec<u64>> = vec![Vec::new(); walked.objects.locks.len()];
    for thread in &walked.threads {
        let mut released = None;
        for step in thread.track.iter() {
            match step {
                Raw::Op(Op::Unlock(lock)) => released = Some(lock as usize),
                Raw::Op(_) => released = None,
                Raw::Gap(gap) => {
                    let ticks = (gap.to - gap.from).saturating_sub(gap.pause);
                    let may_have_woken = gap.woke == priced && ticks <= MOST * price;
                    if let Some(lock) = released.take().filter(|_| may_have_woken)
                        && gaps[lock].len() < SAMPLES
                    {
                        gaps[lock].push(ticks);
                    }
                }
                _ => {}
            }
        }
    }
    gaps.into_iter().map(|gaps| groups(gaps, price)).collect()
}

/// Splits the gaps behind a lock's releases into two groups, if they lie in two.
fn groups(mut gaps: Vec<u64>, price: u64) -> Option<Wakes> {
    gaps.sort_unstable();
    let (short, long) = gaps.split_at(gaps.partition_point(|&ticks| ticks < price / SHORT));
    if short.len().min(long.len()) < ENOUGH.max(gaps.len() / SHARE) {
        return None;
    }
    let at = |of: &[u64], quarter: usize| of[of.len() * quarter / 4];
    let (without, with) = (at(short, 2), at(long, 2));
    // Times that spread as the program's own work does tell nothing about wake-ups.
    let close = at(long, 3) <= 2 * at(long, 1);
    close.then_some(Wakes { above: without.midpoint(at(long, 1)), cost: with - without })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_tell_what_a_wake_up_costs() {
        let short = (0..40).map(|i| 30 + i % 5);
        let long = (0..100).map(|i| 5_500 + 20 * i);
        let found = groups(short.chain(long).collect(), 7_000).unwrap();
        assert_eq!((found.cost, found.above), (6_500 - 32, (32 + 6_000) / 2));
    }

    #[test]
    fn work_of_any_length_is_no_wake_up() {
        let spread = (0..400).map(|i| i * 70).collect();
        assert_eq!(groups(spread, 7_000), None);
        let alike = (0..400).map(|i| 6_000 + i).collect();
        assert_eq!(groups(alike, 7_000), None, "nothing shows what the thread does without a wake-up");
        let rare = (0..29).map(|_| 30).chain((0..100).map(|_| 6_000)).collect();
        assert_eq!(groups(rare, 7_000), None);
    }
}
