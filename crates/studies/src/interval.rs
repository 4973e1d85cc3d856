//! A mean over independent runs with its 95% interval, by Student's t.

use crate::Verdict;
use serde::{Deserialize, Serialize};

/// A mean and half the width of its 95% interval; the width of a single value is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub mean: f64,
    pub half: Option<f64>,
}

/// The two-sided 95% quantiles of Student's t by degrees of freedom, from 1 on. Beyond the table,
/// the normal distribution's is used.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Interval {
    /// The interval of the mean of these values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Interval> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let half = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            let t = T.get(n - 2).copied().unwrap_or(1.96);
            t * (squares / (n - 1) as f64 / n as f64).sqrt()
        });
        Some(Interval { mean, half })
    }

    /// The mean over groups of the groups' means. The interval follows from the spread within the
    /// groups; a group with a single value has none, and the width is then not known. `None` if
    /// there are no groups.
    pub fn of_groups<'a>(groups: impl IntoIterator<Item = &'a Vec<f64>>) -> Option<Interval> {
        let (mut count, mut sum, mut variance, mut freedom, mut single) = (0usize, 0.0, 0.0, 0usize, false);
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let n = group.len();
            let mean = group.iter().sum::<f64>() / n as f64;
            let squares: f64 = group.iter().map(|value| (value - mean) * (value - mean)).sum();
            variance += squares / (n.max(2) - 1) as f64 / n as f64;
            (count, sum, freedom, single) = (count + 1, sum + mean, freedom + n - 1, single || n == 1);
        }
        let half = (!single && count > 0).then(|| {
            let t = T.get(freedom - 1).copied().unwrap_or(1.96);
            t * variance.sqrt() / count as f64
        });
        (count > 0).then(|| Interval { mean: sum / count as f64, half })
    }

    /// Whether the interval includes 0; for a single value, whether it is 0.
    pub fn includes_zero(self) -> bool {
        self.mean.abs() <= self.half.unwrap_or(0.0)
    }

    /// The difference to the mean of other, independent runs; its width is known if both are.
    #[must_use]
    pub fn less(self, other: Interval) -> Interval {
        let half = self.half.zip(other.half).map(|(a, b)| a.hypot(b));
        Interval { mean: self.mean - other.mean, half }
    }

    /// Whether all of the interval, or none of it, lies from the first border to the second, both
    /// included. A mean of unknown width counts as a point.
    pub fn is_within(self, [least, most]: [f64; 2]) -> Verdict {
        let [low, high] = self.ends().unwrap_or([self.mean; 2]);
        match (least <= low && high <= most, high < least || most < low) {
            (true, _) => Verdict::Holds,
            (_, true) => Verdict::DoesNotHold,
            _ => Verdict::CannotTell,
        }
    }

    /// Whether all of the interval, or none of it, lies at a border or below.
    pub fn is_at_most(self, most: f64) -> Verdict {
        self.is_within([f64::NEG_INFINITY, most])
    }

    /// Whether all of the interval, or none of it, lies above a border.
    pub fn is_above(self, border: f64) -> Verdict {
        self.is_at_most(border).opposite()
    }

    /// Whether all of the interval, or none of it, lies below a border.
    pub fn is_below(self, border: f64) -> Verdict {
        self.is_within([border, f64::INFINITY]).opposite()
    }

    /// The ends, if the width is known.
    pub fn ends(self) -> Option<[f64; 2]> {
        self.half.map(|half| [self.mean - half, self.mean + half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_values() {
        assert_eq!(Interval::of(&[]), None);
        assert_eq!(Interval::of(&[3.0]), Some(Interval { mean: 3.0, half: None }));
        let two = Interval::of(&[1.0, 3.0]).unwrap();
        // The values 1 and 3 have a standard error of 1. The quantile of one degree of freedom is
        // 12.706.
        assert!((two.mean - 2.0).abs() < 1e-12 && (two.half.unwrap() - 12.706).abs() < 1e-9);
        assert_eq!(Interval::of_groups(&[vec![1.0, 3.0]]), Some(two));
        assert_eq!(Interval::of_groups(&[vec![1.0, 3.0], vec![4.0]]), Some(Interval { mean: 3.0, half: None }));
        assert!(two.includes_zero() && !Interval::of(&[2.0, 2.0, 2.0]).unwrap().includes_zero());
    }
}
