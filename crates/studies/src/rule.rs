//! The rule by which a claim holds. A rule is data beside its claim: it is committed before the
//! first full run, printed with the claim, and part of the hash that freezes the rules.

use crate::Interval;
use serde::Serialize;
use std::fmt;

/// The largest tolerance that a rule may have: a quarter of the paper's figure.
pub const MOST_TOLERANCE: f64 = 0.25;

/// A rule that compares our figure with the paper's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Rule {
    /// Our figure differs from the paper's figure by at most this share.
    Within(f64),
    /// Ours lies within this many points of the paper's figure; for figures that are small shares
    /// themselves.
    Points(f64),
    /// Our figure and its whole interval are greater than 0, for a claim that gives a direction
    /// only.
    Positive,
    /// The absolute value of our figure is at most this number.
    AtMost(f64),
    /// A condition of the study, as text; our figure is 1 if the condition holds, and 0 if it does
    /// not.
    Condition(&'static str),
}

impl Rule {
    /// Returns whether `ours` satisfies the rule.
    pub fn holds(self, paper: f64, ours: Interval) -> bool {
        let near = |most: f64| (ours.mean - paper).abs() <= most;
        match self {
            Rule::Within(share) => near(share.min(MOST_TOLERANCE) * paper.abs()),
            Rule::Points(points) => near(points),
            Rule::Positive => ours.mean - ours.half.unwrap_or(0.0) > 0.0,
            Rule::AtMost(most) => ours.mean.abs() <= most,
            Rule::Condition(_) => ours.mean == 1.0,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Within(share) => write!(f, "within {:.0}% of the paper's figure", 100.0 * share.min(MOST_TOLERANCE)),
            Rule::Points(points) => write!(f, "within {points} of the paper's figure"),
            Rule::Positive => f.write_str("above 0 with its 95% interval"),
            Rule::AtMost(most) => write!(f, "at most {most} away from 0"),
            Rule::Condition(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(mean: f64) -> Interval {
        Interval { mean, half: None }
    }

    #[test]
    fn both_sides_of_each_border() {
        assert!(Rule::Within(0.25).holds(40.0, exactly(30.0)) && !Rule::Within(0.25).holds(40.0, exactly(29.9)));
        assert!(!Rule::Within(2.0).holds(40.0, exactly(10.0)), "no rule is more generous than a quarter");
        assert!(Rule::Points(3.0).holds(5.0, exactly(8.0)) && !Rule::Points(3.0).holds(5.0, exactly(8.1)));
        let wide = Interval { mean: 1.0, half: Some(1.0) };
        assert!(Rule::Positive.holds(0.0, exactly(0.1)) && !Rule::Positive.holds(0.0, wide));
        assert!(Rule::AtMost(0.01).holds(0.0, exactly(-0.01)) && !Rule::AtMost(0.01).holds(0.0, exactly(0.02)));
    }
}
