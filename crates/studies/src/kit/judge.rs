//! Judges claims by their rules, and falsifiers by the effects that were seen. A claim that this
//! extent of the study cannot judge gets the reason instead.

use super::samples::{Pair, said};
use crate::{Claim, Effect, Falsifier, Interval, Rule, Verdict};

pub struct Judge {
    /// Whether all runs were made that claims over all programs need.
    full: bool,
    pub claims: Vec<Claim>,
}

impl Judge {
    /// A judge for a full or a partial study.
    pub fn new(full: bool) -> Judge {
        Judge { full, claims: Vec::new() }
    }

    /// Judges a claim. `needs` says what the full study runs for it; `missed` says why the claim
    /// does not hold, if it does not.
    pub fn push(
        &mut self,
        claim: Claim,
        paper: f64,
        ours: Option<Interval>,
        rule: Rule,
        needs: &str,
        missed: impl Into<String>,
    ) {
        let Some(ours) = ours else {
            let why = "needs the full run: its programs or experiments were not run";
            return self.claims.push(claim.open(Some(paper), rule, why));
        };
        let judged = claim.judged(paper, ours, rule, missed);
        self.claims.push(if self.full {
            judged
        } else {
            judged.open(Some(paper), rule, format!("needs the full run: {needs}"))
        });
    }

    /// Judges a condition that the study computes itself; `holds` is `None` if the experiments of
    /// the condition were not run.
    pub fn condition(
        &mut self,
        claim: Claim,
        rule: &'static str,
        holds: Option<bool>,
        needs: &str,
        missed: impl Into<String>,
    ) {
        self.weighed(claim, rule, holds.map(Verdict::of), needs, missed);
    }

    /// Judges a condition over figures with intervals; `verdict` is `None` if the experiments of the
    /// condition were not run.
    pub fn weighed(
        &mut self,
        claim: Claim,
        rule: &'static str,
        verdict: Option<Verdict>,
        needs: &str,
        missed: impl Into<String>,
    ) {
        let rule = Rule::Condition(rule);
        if verdict == Some(Verdict::CannotTell) && self.full {
            let why = format!("at least one interval lies on both sides of a border; {}", missed.into());
            let mut claim = claim.open(Some(1.0), rule, "");
            claim.decide(Verdict::CannotTell, why);
            return self.claims.push(claim);
        }
        let came_out = |verdict| f64::from(u8::from(verdict == Verdict::Holds));
        let ours = verdict.map(|verdict| Interval { mean: came_out(verdict), half: None });
        self.push(claim, 1.0, ours, rule, needs, missed);
    }

    /// Adds the figure of the claim that was judged last under its oracle arm, if that was run.
    pub fn ideal(&mut self, arm: &'static str, ideal: Option<Interval>, rule: Rule, effect: Effect) {
        if let Some((claim, ideal)) = self.claims.last_mut().zip(ideal) {
            claim.under_ideal(arm, ideal, rule, effect);
        }
    }

    /// Adds the verdict of the condition that was judged last under its oracle arm, if that was run.
    pub fn ideal_condition(&mut self, arm: &'static str, verdict: Option<Verdict>) {
        if let Some((claim, verdict)) = self.claims.last_mut().zip(verdict) {
            claim.condition_under_ideal(arm, verdict);
        }
    }
}

/// A gain below this share of a run, in percent, counts as no gain if its interval includes 0.
pub const NO_GAIN: f64 = 1.0;

/// Whether a gain in percent counts as no gain: it is below [`NO_GAIN`], and its interval includes
/// 0.
pub fn no_gain(gain: Interval) -> bool {
    gain.mean.abs() < NO_GAIN && gain.includes_zero()
}

impl Falsifier {
    /// A falsifier that was not run, with the reason.
    pub fn not_run(id: &'static str, what: &str, why: &str) -> Falsifier {
        Falsifier { id, what: what.to_owned(), holds: None, figures: Vec::new(), why: why.to_owned() }
    }

    /// A falsifier that was run. `why` is stated if the effect was not seen.
    pub fn seen(
        id: &'static str,
        what: &str,
        holds: bool,
        figures: Vec<(String, f64)>,
        why: impl FnOnce() -> String,
    ) -> Falsifier {
        let why = if holds { String::new() } else { why() };
        Falsifier { id, what: what.to_owned(), holds: Some(holds), figures, why }
    }

    /// A falsifier with the figures that were seen, by name. `seen` also says whether the effect was
    /// seen; it is `None` if the runs were not made, and `needs` then says what they need.
    pub fn shown<const N: usize>(
        id: &'static str,
        what: &str,
        needs: &str,
        seen: Option<(bool, [(&str, f64); N])>,
        why: impl FnOnce() -> String,
    ) -> Falsifier {
        let Some((holds, figures)) = seen else { return Falsifier::not_run(id, what, needs) };
        let figures = figures.map(|(name, value)| (name.to_owned(), value));
        Falsifier::seen(id, what, holds, figures.into(), why)
    }

    /// Like [`Falsifier::shown`], with a verdict from the intervals of the figures. It neither holds
    /// nor fails where that cannot be told.
    pub fn weighed<const N: usize>(
        id: &'static str,
        what: &str,
        needs: &str,
        seen: Option<(Verdict, [(&str, f64); N])>,
        why: impl FnOnce() -> String,
    ) -> Falsifier {
        let decided = |(verdict, figures): (Verdict, _)| (verdict.decided().unwrap_or(false), figures);
        let open = seen.as_ref().is_some_and(|(verdict, _)| verdict.decided().is_none());
        let mut falsifier = Falsifier::shown(id, what, needs, seen.map(decided), why);
        if open {
            falsifier.holds = None;
            falsifier.why = format!("cannot tell: an interval lies on both sides of the border; {}", falsifier.why);
        }
        falsifier
    }

    /// A falsifier that requires no gain; `gain` is in percent.
    pub fn no_gain(id: &'static str, what: &str, gain: Option<Interval>) -> Falsifier {
        let Some(gain) = gain else { return Falsifier::not_run(id, what, "not run") };
        let figures = vec![
            ("gain, %".to_owned(), gain.mean),
            ("half its 95% interval, points".to_owned(), gain.half.unwrap_or(0.0)),
        ];
        Falsifier::seen(id, what, no_gain(gain), figures, || format!("`{id}`: a gain of {}%", said(Some(gain))))
    }

    /// A falsifier that requires exactly no change. `same` says for each pair whether nothing
    /// changed.
    pub fn exact<D, F>(
        id: &'static str,
        what: &str,
        pairs: &[Pair<'_, D, F>],
        same: impl Fn(&Pair<'_, D, F>) -> bool,
        figures: Vec<(String, f64)>,
        why: &str,
    ) -> Falsifier {
        if pairs.is_empty() {
            return Falsifier::not_run(id, what, "not run");
        }
        Falsifier::seen(id, what, pairs.iter().all(same), figures, || why.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;

    #[test]
    fn a_falsifier_whose_interval_has_the_border_in_it_is_not_told() {
        let of = |verdict| {
            let seen = Some((verdict, [("gain", 1.0)]));
            Falsifier::weighed("f", "no gain", "not run", seen, || "why".to_owned())
        };
        assert_eq!([Verdict::Holds, Verdict::DoesNotHold].map(|verdict| of(verdict).holds), [Some(true), Some(false)]);
        let open = of(Verdict::CannotTell);
        assert!(open.holds.is_none() && open.why.starts_with("cannot tell") && open.why.ends_with("why"), "{open:?}");
    }

    #[test]
    fn what_was_not_run_in_full_is_not_judged() {
        let ours = |mean| Some(Interval { mean, half: Some(0.5) });
        for full in [false, true] {
            let mut judge = Judge::new(full);
            let mut push =
                |ours| judge.push(Claim::new("A1", "", "gain", "%"), 8.0, ours, Rule::Within(0.25), "all", "why");
            push(ours(7.0));
            push(ours(2.0));
            push(None);
            judge.condition(Claim::new("A2", "", "grows", "1 if so"), "more each time", Some(true), "all", "why");
            let of: Vec<_> = judge.claims.iter().map(|claim| claim.holds).collect();
            assert_eq!(of, if full { [Some(true), Some(false), None, Some(true)] } else { [None; 4] });
            assert!(judge.claims.iter().all(|claim| claim.basis == Basis::Predicted && claim.why.is_empty() == (claim.holds == Some(true))));
        }
    }

    #[test]
    fn no_gain_is_small_and_not_told_from_0() {
        let of = |mean, half| Falsifier::no_gain("f", "none", Some(Interval { mean, half: Some(half) }));
        assert_eq!(
            [of(0.5, 1.0).holds, of(0.5, 0.1).holds, of(1.5, 2.0).holds],
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!(of(1.5, 2.0).why, "`f`: a gain of 1.5 ± 2.0%");
        assert_eq!(Falsifier::no_gain("f", "none", None).holds, None);
    }
}
