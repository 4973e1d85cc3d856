//! The rule by which a claim holds. A rule is data beside its claim: it is committed before the
//! first full run, printed with the claim, and part of the hash that freezes the rules.

use crate::{Interval, Verdict};
use serde::Serialize;
use std::fmt;

/// The largest tolerance that a rule may have: a quarter of the paper's figure.
pub const MOST_TOLERANCE: f64 = 0.25;

/// A rule that compares our figure with the paper's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Rule {
    /// Our figure differs from the paper's figure by at most this share of the latter; a share
    /// above [`MOST_TOLERANCE`] counts as that.
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
    /// Judges `ours` by the rule: the claim holds if the whole interval lies inside the rule's
    /// band, does not hold if the whole interval lies outside of it, and cannot be told otherwise.
    /// A figure of unknown width is judged as a point.
    pub fn judge(self, paper: f64, ours: Interval) -> Verdict {
        let near = |most: f64| ours.is_within([paper - most, paper + most]);
        match self {
            Rule::Within(share) => near(share.min(MOST_TOLERANCE) * paper.abs()),
            Rule::Points(points) => near(points),
            Rule::Positive => ours.is_above(0.0),
            Rule::AtMost(most) => ours.is_within([-most, most]),
            Rule::Condition(_) => Verdict::of(ours.mean == 1.0),
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
        let of = |rule: Rule, paper, ours| rule.judge(paper, exactly(ours)).decided().unwrap();
        assert!(of(Rule::Within(0.25), 40.0, 30.0) && !of(Rule::Within(0.25), 40.0, 29.9));
        assert!(!of(Rule::Within(2.0), 40.0, 10.0), "no rule is more generous than a quarter");
        assert!(of(Rule::Points(3.0), 5.0, 8.0) && !of(Rule::Points(3.0), 5.0, 8.1));
        assert!(of(Rule::Positive, 0.0, 0.1) && !of(Rule::Positive, 0.0, 0.0));
        assert!(of(Rule::AtMost(0.01), 0.0, -0.01) && !of(Rule::AtMost(0.01), 0.0, 0.02));
    }

    #[test]
    fn an_interval_across_a_border_cannot_tell() {
        let of = |rule: Rule, paper, mean, half| rule.judge(paper, Interval { mean, half: Some(half) });
        // The band is 17.25 to 28.75.
        for (mean, half, verdict) in [
            (23.0, 5.7, Verdict::Holds),
            (14.92, 5.83, Verdict::CannotTell),
            (14.92, 2.0, Verdict::DoesNotHold),
            (23.0, 9.0, Verdict::CannotTell),
            (30.0, 1.0, Verdict::DoesNotHold),
        ] {
            assert_eq!(of(Rule::Within(0.25), 23.0, mean, half), verdict, "{mean} ± {half}");
        }
        assert_eq!(of(Rule::Positive, 0.0, 1.0, 1.0), Verdict::CannotTell);
        assert_eq!(of(Rule::Positive, 0.0, -2.0, 1.0), Verdict::DoesNotHold);
        assert_eq!(of(Rule::AtMost(1.0), 0.0, 0.5, 1.0), Verdict::CannotTell);
    }
}
