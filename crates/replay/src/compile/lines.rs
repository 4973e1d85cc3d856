//! How many data lines move with a lock. A hold after another core's takes longer than one after the own core's by the
//! transfers of the lines that both write. So the difference of the two medians, over the price of a transfer, is the number
//! of lines; the medians' intervals give its interval. What is inferred is taken out of the holds that had to pay it
//! and charged anew in the simulation, so it is not counted twice.

use super::gaps::Measures;
use super::walk::Hold;
use crate::program::Lines;
use baton_chip::Prices;

/// Fewer holds than this on either side say nothing.
const ENOUGH: usize = 30;
/// More lines than this do not hop with a lock: the difference has another cause.
const MOST: f64 = 64.0;

/// The lines of each lock.
pub(crate) fn infer(holds: &[Hold], locks: usize, measures: &Measures, prices: &Prices) -> Vec<Lines> {
    let mut own = vec![Vec::new(); locks];
    let mut foreign = vec![Vec::new(); locks];
    for hold in holds {
        let of = if hold.foreign { &mut foreign } else { &mut own };
        of[hold.lock as usize].push(hold.ticks);
    }
    own.iter_mut()
        .zip(&mut foreign)
        .map(|(own, foreign)| {
            let counts = Lines { own: own.len() as u64, foreign: foreign.len() as u64, ..Lines::default() };
            if own.len() < ENOUGH || foreign.len() < ENOUGH {
                return counts;
            }
            let transfer = prices.transfer.same_cluster.0.max(1) as f64;
            let ((own_low, own, own_high), (low, mid, high)) = (median(own), median(foreign));
            let lines = |ticks: f64| (measures.scale.cycles(ticks) / transfer).clamp(0.0, MOST);
            let (estimate, low, high) = (lines(mid - own), lines(low - own_high), lines(high - own_low));
            Lines { estimate, low, high, ..counts }
        })
        .collect()
}

/// Cycles that the lines cost a hold after foreign ownership.
pub(crate) fn after_foreign(lines: &Lines, prices: &Prices) -> u64 {
    (lines.estimate.round() as u64) * prices.transfer.same_cluster.0
}

/// The median with its 95% interval, by order statistics.
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
