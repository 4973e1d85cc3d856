//! Oracle arms: a claim's figure with the treatment at its ideal, which says whether the experiment
//! could show the claim at all.

use crate::{Claim, Interval, Rule, Verdict};
use serde::Serialize;

/// A claim under its oracle arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oracle {
    /// What is ideal in the arm.
    pub arm: &'static str,
    /// The claim's figure in the arm; `None` for a condition.
    pub ours: Option<f64>,
    /// The ends of the 95% interval of that figure.
    pub interval: Option<[f64; 2]>,
    /// What the claim's rule says of the arm.
    pub verdict: Verdict,
}

/// Whether a larger treatment makes the claim's figure larger or smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Raises,
    Lowers,
}

impl Effect {
    /// Whether `figure` shows less of the effect than the paper's figure does.
    fn is_short(self, paper: f64, figure: f64) -> bool {
        match self {
            Effect::Raises => figure < paper,
            Effect::Lowers => figure > paper,
        }
    }
}

impl Claim {
    /// Adds the claim's figure under its oracle arm. If both the claim's own figure and the ideal
    /// one miss the rule's band by too small an effect, the claim cannot be shown here.
    pub fn under_ideal(&mut self, arm: &'static str, ideal: Interval, rule: Rule, effect: Effect) {
        let (Some(paper), Some(ours)) = (self.paper, self.ours) else { return };
        let verdict = rule.judge(paper, ideal);
        let short = [ours, ideal.mean].into_iter().all(|figure| effect.is_short(paper, figure));
        let oracle = Oracle { arm, ours: Some(ideal.mean), interval: ideal.ends(), verdict };
        self.bound(oracle, short, &format!("the figure is {}, too little as well", baton_plot::number(ideal.mean)));
    }

    /// Adds the verdict of the claim's condition under its oracle arm. A condition that is not met
    /// there either cannot be shown here.
    pub fn condition_under_ideal(&mut self, arm: &'static str, verdict: Verdict) {
        self.bound(Oracle { arm, ours: None, interval: None, verdict }, true, "the condition is not met either");
    }

    fn bound(&mut self, oracle: Oracle, short: bool, what: &str) {
        if (self.verdict, oracle.verdict) == (Verdict::DoesNotHold, Verdict::DoesNotHold) && short {
            self.verdict = Verdict::CannotShow;
            self.holds = self.verdict.decided();
            self.why = format!("with {} {what}; {}", oracle.arm, self.why);
        }
        self.oracle = Some(oracle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND: Rule = Rule::Within(0.25);

    fn claim(ours: f64, ideal: f64, effect: Effect) -> Claim {
        let exactly = |mean| Interval { mean, half: Some(0.1) };
        let mut claim = Claim::new("A5", "", "gain", "times").judged(22.0, exactly(ours), BAND, "why");
        claim.under_ideal("a free wake-up", exactly(ideal), BAND, effect);
        claim
    }

    #[test]
    fn a_claim_that_the_ideal_misses_too_cannot_be_shown() {
        let short = claim(5.0, 9.0, Effect::Raises);
        assert_eq!((short.verdict, short.holds), (Verdict::CannotShow, None));
        assert_eq!(short.why, "with a free wake-up the figure is 9, too little as well; why");
        assert_eq!(claim(5.0, 20.0, Effect::Raises).verdict, Verdict::DoesNotHold);
        assert_eq!(claim(20.0, 21.0, Effect::Raises).verdict, Verdict::Holds);
    }

    /// More than the paper's effect was shown: no lack of power.
    #[test]
    fn a_claim_that_is_exceeded_was_shown() {
        assert_eq!(claim(40.0, 50.0, Effect::Raises).verdict, Verdict::DoesNotHold);
        assert_eq!(claim(5.0, 4.0, Effect::Lowers).verdict, Verdict::DoesNotHold);
        assert_eq!(claim(50.0, 40.0, Effect::Lowers).verdict, Verdict::CannotShow);
    }

    #[test]
    fn a_condition_that_the_ideal_does_not_meet_cannot_be_shown() {
        let of = |ideal| {
            let mut claim = Claim::new("A6", "", "crosses", "").judged(
                1.0,
                Interval { mean: 0.0, half: None },
                Rule::Condition("crosses"),
                "why",
            );
            claim.condition_under_ideal("a free wake-up", ideal);
            claim.verdict
        };
        assert_eq!(
            [Verdict::DoesNotHold, Verdict::Holds, Verdict::CannotTell].map(of),
            [Verdict::CannotShow, Verdict::DoesNotHold, Verdict::DoesNotHold]
        );
    }
}
