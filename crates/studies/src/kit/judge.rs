//! Claims by their rules, and falsifiers: what is judged to this extent, and why the rest is not.

use super::samples::{Pair, said};
use crate::{Claim, Falsifier, Interval, Rule};

/// Judges claims to an extent.
pub struct Judge {
    /// Whether all was run that claims over all programs need.
    full: bool,
    /// The claims so far.
    pub claims: Vec<Claim>,
}

impl Judge {
    /// For a study of which all was run, or not.
    pub fn new(full: bool) -> Judge {
        Judge { full, claims: Vec::new() }
    }

    /// Judges one. `needs` says what the full run has that it needs, `missed` why it does not hold if it does not.
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
            Claim { holds: None, why: format!("needs the full run: {needs}"), ..judged }
        });
    }

    /// Judges a condition of the study's own; `None`: its experiments were not run.
    pub fn condition(
        &mut self,
        claim: Claim,
        rule: &'static str,
        holds: Option<bool>,
        needs: &str,
        missed: impl Into<String>,
    ) {
        let ours = holds.map(|holds| Interval { mean: f64::from(u8::from(holds)), half: None });
        self.push(claim, 1.0, ours, Rule::Condition(rule), needs, missed);
    }
}

/// A gain below this share of a run, in percent, whose interval includes 0 is none.
pub const NO_GAIN: f64 = 1.0;

/// Whether a gain, in percent, is none: below [`NO_GAIN`], with 0 in its interval.
pub fn no_gain(gain: Interval) -> bool {
    gain.mean.abs() < NO_GAIN && gain.includes_zero()
}

impl Falsifier {
    /// One that was not run, and why.
    pub fn not_run(id: &'static str, what: &str, why: &str) -> Falsifier {
        Falsifier { id, what: what.to_owned(), holds: None, figures: Vec::new(), why: why.to_owned() }
    }

    /// One that was run; `why` is said if it was not seen.
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

    /// No gain must be seen: `gain` is in percent, over these pairs.
    pub fn no_gain(id: &'static str, what: &str, gain: Option<Interval>) -> Falsifier {
        let Some(gain) = gain else { return Falsifier::not_run(id, what, "not run") };
        let figures = vec![
            ("gain, %".to_owned(), gain.mean),
            ("half its 95% interval, points".to_owned(), gain.half.unwrap_or(0.0)),
        ];
        Falsifier::seen(id, what, no_gain(gain), figures, || format!("`{id}`: a gain of {}%", said(Some(gain))))
    }

    /// Exactly nothing must change: `same` says so of each pair.
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
