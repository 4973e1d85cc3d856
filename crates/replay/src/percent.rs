//! Relative savings over seeds: how much smaller a figure is in some runs than in others.

use crate::ran::{Ran, RunError};
use serde::Serialize;

/// A percentage and its spread over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percent {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Percent {
    fn of(mut values: Vec<f64>) -> Percent {
        values.sort_unstable_by(f64::total_cmp);
        match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => Percent { median: values[values.len() / 2], low, high },
            _ => Percent::default(),
        }
    }
}

/// Returns by how much a figure is smaller than in the runs `first`, seed by seed; `None` for these
/// first runs themselves.
pub(crate) fn less_than(
    ran: &[Result<Ran, RunError>],
    first: Option<&[Result<Ran, RunError>]>,
    value: fn(&Ran) -> u64,
) -> Option<Percent> {
    let pairs = ran.iter().zip(first?).filter_map(|(here, there)| Some((here.as_ref().ok()?, there.as_ref().ok()?)));
    Some(Percent::of(pairs.map(|(here, there)| less(value(there), value(here))).collect()))
}

/// Returns by how much the competition overhead is smaller than in the runs `first`, seed by seed.
/// `None` for the first runs themselves, and if one of them has almost no overhead (see
/// [`NEXT_TO_NONE`]), because a share of almost nothing says nothing.
pub(crate) fn less_overhead(ran: &[Result<Ran, RunError>], first: Option<&[Result<Ran, RunError>]>) -> Option<Percent> {
    let next_to_none = |ran: &Ran| is_next_to_none(ran.totals.overhead.0, ran.time.0);
    if first?.iter().flatten().any(next_to_none) {
        return None;
    }
    less_than(ran, first, |ran| ran.totals.overhead.0)
}

/// Overhead counts as none if it is less than the run's time divided by this number.
const NEXT_TO_NONE: u64 = 1000;

fn is_next_to_none(overhead: u64, time: u64) -> bool {
    overhead < time / NEXT_TO_NONE
}

/// Returns the saving in percent; 0 if there was nothing to save.
fn less(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { 100.0 * (before as f64 - after as f64) / before as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_next_to_nothing_is_none() {
        assert!(is_next_to_none(999_999, 1_000_000_000));
        assert!(!is_next_to_none(1_000_000, 1_000_000_000));
        assert!(!is_next_to_none(0, 0));
        assert_eq!([less(200, 50), less(0, 7)], [75.0, 0.0]);
    }
}
