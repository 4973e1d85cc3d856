//! The noise of a mean, estimated by batch means. Successive waits depend on each other (a convoy
//! makes many long ones), so the usual standard error would be far too small. The run is therefore
//! cut into stretches of time that are long enough to be nearly independent, and the scatter
//! between stretches counts (A. M. Law, *Simulation Modeling and Analysis*, chapter on output
//! analysis; the standard error of a ratio of sums is the usual ratio estimator's).

use serde::{Deserialize, Serialize};

/// The number of stretches in a run.
const BATCHES: usize = 16;
/// Student's t for 95%, two-sided, at 15 degrees of freedom.
const T_95: f64 = 2.131;

/// Sums and counts of a quantity, for each stretch of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batches {
    sums: [u64; BATCHES],
    counts: [u64; BATCHES],
}

impl Batches {
    fn at(share: f64) -> usize {
        ((share * BATCHES as f64) as usize).min(BATCHES - 1)
    }

    /// Adds `amount` at the moment `share` (0 to 1) of the run.
    pub(super) fn add_sum(&mut self, share: f64, amount: u64) {
        self.sums[Self::at(share)] += amount;
    }

    /// Counts one event at the moment `share` of the run.
    pub(super) fn add_one(&mut self, share: f64) {
        self.counts[Self::at(share)] += 1;
    }

    pub(super) fn sum(&self) -> u64 {
        self.sums.iter().sum()
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum() as f64 / self.count() as f64 }
    }

    /// The standard error of the mean; `None` if too few stretches have any event.
    fn standard_error(&self) -> Option<f64> {
        let used = self.counts.iter().filter(|n| **n > 0).count();
        if used < BATCHES / 2 {
            return None;
        }
        let mean = self.mean();
        let squares: f64 = self.sums.iter().zip(self.counts).map(|(s, n)| (*s as f64 - mean * n as f64).powi(2)).sum();
        let k = used as f64;
        Some((k / (k - 1.0) * squares).sqrt() / self.count() as f64)
    }
}

/// A mean in the first and in the second profile, and the noise of their difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub before: f64,
    pub after: f64,
    /// Half the width of the 95% interval of the difference between the two means; `None` if too few
    /// stretches of one of the two runs have an event.
    pub noise: Option<f64>,
}

impl Change {
    pub(super) fn between(before: &Batches, after: &Batches) -> Change {
        let errors = before.standard_error().zip(after.standard_error());
        Change { before: before.mean(), after: after.mean(), noise: errors.map(|(a, b)| T_95 * a.hypot(b)) }
    }

    /// After − before.
    pub fn difference(&self) -> f64 {
        self.after - self.before
    }

    /// Whether the difference exceeds the noise; `None` if that is not known.
    pub fn is_beyond_noise(&self) -> Option<bool> {
        self.noise.map(|noise| self.difference().abs() > noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of events that depend on each other: 25 in a row share a level. Returns also the usual
    /// standard error of the mean, which takes the events for independent.
    fn dependent(mean: f64, random: &mut impl FnMut() -> f64) -> (Batches, f64) {
        let (mut batches, mut level, mut amounts) = (Batches::default(), 0.0, Vec::new());
        for i in 0..1_600 {
            if i % 25 == 0 {
                level = random();
            }
            let amount = (mean * (level + random())) as u64;
            amounts.push(amount as f64);
            batches.add_one(f64::from(i) / 1_600.0);
            batches.add_sum(f64::from(i) / 1_600.0, amount);
        }
        let squares: f64 = amounts.iter().map(|amount| (amount - batches.mean()).powi(2)).sum();
        (batches, squares.sqrt() / 1_600.0)
    }

    /// In 360 to 396 of 400 pairs of runs, the 95% interval contains the true difference of 100,
    /// although the events depend on each other; intervals from the usual standard error contain it
    /// in fewer than 240. A difference of 1,000, which is far above the scatter, is beyond the noise.
    #[test]
    fn the_interval_covers_the_true_difference() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let within = |change: f64, noise: f64| (change - 100.0).abs() <= noise;
        let (mut covered, mut usual) = (0, 0);
        for _ in 0..400 {
            let (before, error_before) = dependent(1_000.0, &mut random);
            let (after, error_after) = dependent(1_100.0, &mut random);
            let change = Change::between(&before, &after);
            covered += u32::from(within(change.difference(), change.noise.unwrap_or(0.0)));
            usual += u32::from(within(change.difference(), 1.96 * error_before.hypot(error_after)));
        }
        assert!((360..=396).contains(&covered) && usual < 240, "{covered} and {usual} of 400");
        let (few, many) = (dependent(1_000.0, &mut random).0, dependent(2_000.0, &mut random).0);
        assert_eq!(Change::between(&few, &many).is_beyond_noise(), Some(true));
    }

    #[test]
    fn a_short_run_has_no_noise_to_state() {
        let mut one = Batches::default();
        one.add_one(0.5);
        one.add_sum(0.5, 10);
        assert_eq!(Change::between(&one, &one).noise, None);
        assert_eq!(Change::between(&one, &one).is_beyond_noise(), None);
    }
}
