//! Shares over seeds: how much less of a figure some runs have than others.

use crate::run::{Ran, RunError};
use serde::Serialize;

/// A value over seeds, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percent {
    /// The middle one.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
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

/// How much less of a figure some runs have than the first ones, seed by seed; `None` of the first ones.
pub(crate) fn less_than(
    ran: &[Result<Ran, RunError>],
    first: Option<&[Result<Ran, RunError>]>,
    value: fn(&Ran) -> u64,
) -> Option<Percent> {
    let pairs = ran.iter().zip(first?).filter_map(|(here, there)| Some((here.as_ref().ok()?, there.as_ref().ok()?)));
    Some(Percent::of(pairs.map(|(here, there)| less(value(there), value(here))).collect()))
}

/// How much less, in percent; 0 where there was nothing.
fn less(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { 100.0 * (before as f64 - after as f64) / before as f64 }
}
