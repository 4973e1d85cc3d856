//! The number of data lines that move with a lock. A hold after a hold on another core takes longer
//! than one after a hold on the same core, because the lines that both write must be transferred.
//! The difference between the median lengths of the two kinds, divided by the price of a transfer,
//! is the number of lines, and the intervals of the medians give the interval of this number. The
//! inferred cost is taken out of the holds that paid it and charged anew in the simulation, so that
//! it does not count twice.

use super::holds::Holds;
use super::scale::Scale;
use crate::program::Lines;
use baton_chip::Prices;

/// If a lock has fewer holds than this of either kind, no lines are inferred.
const ENOUGH: u64 = 30;
/// Greatest number of lines that is inferred: a longer difference has another cause than lines that
/// move with the lock.
const MOST: f64 = 64.0;

/// Infers how many data lines move with each lock.
pub(crate) fn infer(holds: &Holds, locks: usize, scale: Scale, prices: &Prices) -> Vec<Lines> {
    let mut counts = vec![Lines::default(); locks];
    for hold in holds.iter() {
        let of = &mut counts[hold.lock as usize];
        *if hold.foreign { &mut of.foreign } else { &mut of.own } += 1;
    }
    let enough = |lines: &Lines| lines.own >= ENOUGH && lines.foreign >= ENOUGH;
    // For each lock with enough holds of both kinds: the ticks of the holds after one on the same
    // core, then of those after one on another core.
    let room = |count: u64| Vec::with_capacity(count as usize);
    let mut ticks: Vec<[Vec<u64>; 2]> = Vec::new();
    let mut number = vec![usize::MAX; locks];
    for (lock, of) in counts.iter().enumerate().filter(|(_, of)| enough(of)) {
        number[lock] = ticks.len();
        ticks.push([room(of.own), room(of.foreign)]);
    }
    for hold in holds.iter() {
        if let Some(of) = ticks.get_mut(number[hold.lock as usize]) {
            of[usize::from(hold.foreign)].push(hold.ticks);
        }
    }
    let transfer = prices.transfer.same_cluster.0.max(1) as f64;
    for (of, [own, foreign]) in counts.iter_mut().filter(|of| enough(of)).zip(&mut ticks) {
        let ((own_low, own, own_high), (low, mid, high)) = (median(own), median(foreign));
        let lines = |ticks: f64| (scale.cycles(ticks) / transfer).clamp(0.0, MOST);
        (of.estimate, of.low, of.high) = (lines(mid - own), lines(low - own_high), lines(high - own_low));
    }
    counts
}

/// Returns the cycles that moving the lines adds to a hold after a hold on another core.
pub(crate) fn after_foreign(lines: &Lines, prices: &Prices) -> u64 {
    (lines.estimate.round() as u64) * prices.transfer.same_cluster.0
}

/// Returns the median of the values and its 95% interval, by order statistics.
fn median(values: &mut [u64]) -> (f64, f64, f64) {
    values.sort_unstable();
    let n = values.len() as f64;
    let half = 1.96 * n.sqrt() / 2.0;
    let at = |rank: f64| values[(rank.max(0.0) as usize).min(values.len() - 1)] as f64;
    (at(n / 2.0 - half), at(n / 2.0), at(n / 2.0 + half))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_lies_in_its_interval() {
        let mut values: Vec<u64> = (0..1000).rev().collect();
        let (low, mid, high) = median(&mut values);
        assert_eq!(mid, 500.0);
        assert!((460.0..480.0).contains(&low) && (520.0..540.0).contains(&high));
    }
}
