//! How a prediction's runs differ: outcomes that lie apart, each with the number of seeds that came
//! to it.
//!
//! A run may come out quite differently with another seed: under a lock that is handed over, one
//! long hold can start a convoy that lasts for the rest of the run. One figure, the median, would
//! hide that.

use serde::Serialize;

/// A run belongs to another outcome than a quicker one if it takes more than this many times as
/// long.
const APART: u64 = 2;

/// An outcome that several of a row's runs have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The time of the middle one of these runs, as a multiple of the recorded lock's time.
    pub times: f64,
    /// The number of seeds that came to this outcome.
    pub runs: u32,
    /// Whether one of these runs was cut off, so that they take at least as long as `times` says.
    pub at_least: bool,
}

/// Returns the outcomes of runs, the quickest first; empty if all runs have the same outcome. Each
/// run is given by its time and by whether it was cut off; `reference` is the recorded lock's time.
pub(super) fn outcomes(mut runs: Vec<(u64, bool)>, reference: u64) -> Vec<Outcome> {
    runs.sort_unstable();
    let mut outcomes = Vec::new();
    let mut left = &runs[..];
    while let Some(&(quickest, _)) = left.first() {
        let alike = left.partition_point(|(time, _)| *time <= quickest.saturating_mul(APART));
        let (group, rest) = left.split_at(alike);
        outcomes.push(Outcome {
            times: group[group.len() / 2].0 as f64 / reference.max(1) as f64,
            runs: group.len() as u32,
            at_least: group.iter().any(|(_, cut_off)| *cut_off),
        });
        left = rest;
    }
    if outcomes.len() < 2 { Vec::new() } else { outcomes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> Vec<(f64, u32)> {
        let runs = times.iter().map(|time| (*time, false)).collect();
        outcomes(runs, 100).iter().map(|outcome| (outcome.times, outcome.runs)).collect()
    }

    #[test]
    fn runs_that_take_about_as_long_have_one_outcome() {
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[100]), []);
        assert_eq!(of(&[100, 140, 199, 120, 101]), []);
    }

    #[test]
    fn runs_that_lie_apart_are_counted_apart() {
        assert_eq!(of(&[98, 1000, 101, 102, 100]), [(1.01, 4), (10.0, 1)]);
        assert_eq!(of(&[450, 900, 100, 420]), [(1.0, 1), (4.5, 2), (9.0, 1)]);
        let cut = outcomes(vec![(1000, true), (100, false)], 100);
        assert_eq!(cut.iter().map(|outcome| outcome.at_least).collect::<Vec<_>>(), [false, true]);
    }
}
