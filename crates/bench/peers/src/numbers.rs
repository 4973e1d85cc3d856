//! Percentiles, Jain's index, random numbers.

use serde::Serialize;
use std::time::Duration;

/// Counts of times, in 16 steps for each doubling: a percentile is at most 7% too high.
#[derive(Serialize, Clone)]
pub struct Histogram {
    /// By bucket; in JSON only those with a time, each with the bucket's greatest time in nanoseconds.
    #[serde(serialize_with = "filled")]
    counts: Vec<u64>,
    pub longest_ns: u64,
}

const STEPS: u64 = 16;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; 48 * STEPS as usize], longest_ns: 0 }
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.max(STEPS);
    let log = u64::from(ns.ilog2());
    ((log - 4) * STEPS + (ns >> (log - 4)) - STEPS) as usize
}

/// The greatest time of a bucket.
fn greatest(bucket: usize) -> u64 {
    let (log, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    ((STEPS + step + 1) << log) - 1
}

fn filled<S: serde::Serializer>(counts: &[u64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(counts.iter().enumerate().filter(|(_, count)| **count != 0).map(|(at, count)| (greatest(at), count)))
}

impl Histogram {
    pub fn add(&mut self, time: Duration) {
        let ns = time.as_nanos() as u64;
        let at = bucket(ns).min(self.counts.len() - 1);
        self.counts[at] += 1;
        self.longest_ns = self.longest_ns.max(ns);
    }

    pub fn join(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// The time that `share` of all times do not exceed, in nanoseconds; `None` if there are fewer than ten
    /// times beyond it.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().sum();
        if (all as f64) * (1.0 - share) < 10.0 {
            return None;
        }
        let wanted = (all as f64 * share).ceil() as u64;
        let mut sum = 0;
        let at = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        })?;
        Some(greatest(at).min(self.longest_ns) as f64)
    }
}

/// Jain's index: 1 if all have the same, 1/n if one has all.
pub fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    if squares == 0.0 { 0.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Draw(pub u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher and Yates' shuffle.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, (self.next() % (at as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_within_a_step() {
        let mut times = Histogram::default();
        (1..=100_000u64).for_each(|ns| times.add(Duration::from_nanos(ns)));
        for share in [0.5, 0.99, 0.999] {
            let (wanted, found) = (share * 100_000.0, times.percentile(share).unwrap());
            assert!(found >= wanted && found <= wanted * 1.07, "{share}: {found}");
        }
        assert_eq!((times.longest_ns, times.percentile(0.99999)), (100_000, None));
    }

    #[test]
    fn jains_index_and_medians() {
        assert_eq!((jain(&[3, 3, 3]), jain(&[7, 0]), jain(&[0, 0])), (1.0, 0.5, 0.0));
        assert_eq!((median(vec![]), median(vec![3.0, 1.0]), median(vec![5.0, 1.0, 2.0])), (None, Some(2.0), Some(2.0)));
    }

    #[test]
    fn a_shuffle_keeps_what_there_is() {
        let mut values: Vec<u32> = (0..50).collect();
        Draw(7).shuffle(&mut values);
        assert_ne!(values, (0..50).collect::<Vec<_>>());
        values.sort_unstable();
        assert_eq!(values, (0..50).collect::<Vec<_>>());
    }
}
