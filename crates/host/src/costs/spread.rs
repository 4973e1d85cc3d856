//! Sums up a sample of times by its median and by the range of its middle 80%. A mean would say
//! more about other programs on the machine than about the operation.

use serde::Serialize;
use std::time::{Duration, Instant};

/// The distribution of one operation's time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    #[serde(rename = "median_ns")]
    pub median: f64,
    /// The 10th percentile.
    #[serde(rename = "low_ns")]
    pub low: f64,
    /// The 90th percentile.
    #[serde(rename = "high_ns")]
    pub high: f64,
    /// The size of the sample.
    pub samples: usize,
}

/// The values of the sample at these percentiles (nearest rank); `None` for an empty sample.
pub(super) fn percentiles<const N: usize>(mut sample: Vec<f64>, percents: [u32; N]) -> Option<[f64; N]> {
    sample.sort_by(f64::total_cmp);
    let last = sample.len().checked_sub(1)?;
    Some(percents.map(|percent| sample[(last * percent as usize + 50) / 100]))
}

impl Spread {
    /// Sums up a sample; `None` for an empty one.
    pub fn of(sample: Vec<f64>) -> Option<Spread> {
        let samples = sample.len();
        let [low, median, high] = percentiles(sample, [10, 50, 90])?;
        Some(Spread { median, low, high, samples })
    }

    /// Subtracts the known cost of something that the times include. No result is below zero.
    pub fn less(&self, cost: f64) -> Spread {
        let off = |x: f64| (x - cost).max(0.0);
        Spread { median: off(self.median), low: off(self.low), high: off(self.high), samples: self.samples }
    }

    /// Multiplies each time by `factor`.
    pub fn times(&self, factor: f64) -> Spread {
        let by = |x: f64| x * factor;
        Spread { median: by(self.median), low: by(self.low), high: by(self.high), samples: self.samples }
    }
}

/// The least number of batches that say anything about the spread.
const LEAST: usize = 9;
/// The length of a batch. It is long enough that the two clock readings do not matter.
const BATCH: Duration = Duration::from_micros(50);

/// Times `operations(n)`, which runs an operation `n` times, in batches until the budget is used
/// up. Returns the time per operation.
pub(super) fn batches(budget: Duration, mut operations: impl FnMut(u64)) -> Spread {
    let mut time = |n: u64| {
        let start = Instant::now();
        operations(n);
        start.elapsed()
    };
    let mut n = 1;
    while time(n) < BATCH && n < 1 << 30 {
        n *= 2;
    }
    let end = Instant::now() + budget;
    let mut sample = Vec::new();
    while sample.len() < LEAST || Instant::now() < end {
        sample.push(time(n).as_nanos() as f64 / n as f64);
    }
    Spread::of(sample).expect("there are batches")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_summed_up() {
        let s = Spread::of((1..=11).rev().map(f64::from).collect()).unwrap();
        assert_eq!(s, Spread { median: 6.0, low: 2.0, high: 10.0, samples: 11 });
        assert_eq!(s.less(4.0), Spread { median: 2.0, low: 0.0, high: 6.0, samples: 11 });
        assert_eq!(s.times(0.5).high, 5.0);
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![3.0]).unwrap().low, 3.0);
    }

    #[test]
    fn one_operation_is_timed_not_the_batch() {
        let s = batches(Duration::from_millis(2), |n| std::thread::sleep(Duration::from_micros(n)));
        assert!(s.median >= 1_000.0 && s.samples >= LEAST, "{s:?}");
        assert!(s.low <= s.median && s.median <= s.high);
    }
}
