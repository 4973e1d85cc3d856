//! Ratios of means over pairs of runs. The two runs of a pair have the same seed.

use crate::Interval;

/// A ratio of two means, with the distance of each pair from it. The mean of the pairs' own ratios
/// would depend on a few pairs that lie far out.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    mean: f64,
    /// Seed by seed, how far the pair lies from the ratio of the means.
    apart: Vec<f64>,
}

impl Ratio {
    /// The ratio of the mean of `above` to the mean of `below`, which are in the order of seeds;
    /// `None` if there are no pairs.
    pub fn of(above: &[f64], below: &[f64]) -> Option<Ratio> {
        let pairs: Vec<(f64, f64)> = above.iter().copied().zip(below.iter().copied()).collect();
        if pairs.is_empty() {
            return None;
        }
        let [above, below] = pairs.iter().fold([0.0, 0.0], |sums, pair| [sums[0] + pair.0, sums[1] + pair.1]);
        let mean = above / below;
        let scale = below / pairs.len() as f64;
        Some(Ratio { mean, apart: pairs.iter().map(|pair| (pair.0 - mean * pair.1) / scale).collect() })
    }

    /// The mean of ratios that have the same seeds. Its interval is that of the mean, seed by seed;
    /// `None` if there are no ratios, or if their numbers of seeds differ.
    pub fn mean(all: &[Ratio]) -> Option<Ratio> {
        let seeds = all.first()?.apart.len();
        if all.iter().any(|ratio| ratio.apart.len() != seeds) {
            return None;
        }
        let over = |value: &dyn Fn(&Ratio) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        let apart = (0..seeds).map(|seed| over(&|ratio| ratio.apart[seed])).collect();
        Some(Ratio { mean: over(&|ratio| ratio.mean), apart })
    }

    /// How much greater this ratio is than another one with the same seeds, seed by seed; `None` if
    /// their numbers of seeds differ.
    pub fn less(&self, other: &Ratio) -> Option<Interval> {
        let apart: Vec<f64> = self.apart.iter().zip(&other.apart).map(|(a, b)| a - b).collect();
        let alike = self.apart.len() == other.apart.len();
        alike.then(|| Ratio { mean: self.mean - other.mean, apart }.interval())
    }

    /// The ratio with its 95% interval.
    pub fn interval(&self) -> Interval {
        let half = Interval::of(&self.apart).and_then(|apart| apart.half);
        Interval { mean: self.mean, half }
    }

    /// The ratio as percent more than 1, with its 95% interval.
    pub fn percent(&self) -> Interval {
        let Interval { mean, half } = self.interval();
        Interval { mean: 100.0 * (mean - 1.0), half: half.map(|half| 100.0 * half) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_runs_of_a_pair_share_does_not_widen_the_interval() {
        let [above, below] = [[2.0, 20.0, 200.0], [1.0, 10.0, 100.0]];
        let ratio = Ratio::of(&above, &below).unwrap();
        assert_eq!(ratio.interval(), Interval { mean: 2.0, half: Some(0.0) });
        assert_eq!(ratio.percent(), Interval { mean: 100.0, half: Some(0.0) });
        assert!(Ratio::of(&above, &[1.0, 30.0, 100.0]).unwrap().interval().half.unwrap() > 0.0);
        assert_eq!(Ratio::of(&above, &[]), None);
    }

    /// Seed by seed, what one ratio has more the other has less, so that their mean is the same
    /// under every seed.
    #[test]
    fn a_mean_of_ratios_is_taken_seed_by_seed() {
        let [up, down] = [[1.0, 3.0], [3.0, 1.0]].map(|above| Ratio::of(&above, &[1.0, 1.0]).unwrap());
        assert!(up.interval().half.unwrap() > 1.0);
        assert_eq!(up.less(&up), Some(Interval { mean: 0.0, half: Some(0.0) }));
        let mean = Ratio::mean(&[up.clone(), down]).unwrap();
        assert_eq!(mean.interval(), Interval { mean: 2.0, half: Some(0.0) });
        let other = Ratio::of(&[1.0], &[1.0]).unwrap();
        assert_eq!((up.less(&other), Ratio::mean(&[up, other]), Ratio::mean(&[])), (None, None, None));
    }
}
