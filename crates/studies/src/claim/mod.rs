//! The findings of a study: the object that `--json` prints.

mod oracle;

pub use oracle::{Effect, Oracle};

use crate::{Extent, Interval, Rule, Verdict};
use serde::Serialize;

/// What our figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A prediction: neither this figure nor one derived from it was used to set anything.
    Predicted,
    /// The figure was used to set a parameter.
    Calibrated,
    /// The figure is arithmetic on calibrated figures.
    Derived,
    /// The paper does not state what would be needed for a comparison.
    NotComparable,
}

/// One claim of the paper, or one part of a compound claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The claim's number in the table of claims.
    pub id: &'static str,
    /// The part of a compound claim; empty otherwise.
    pub part: String,
    /// What the paper claims.
    pub what: String,
    /// The paper's figure.
    pub paper: Option<f64>,
    /// This system's figure.
    pub ours: Option<f64>,
    /// The unit of both figures.
    pub unit: &'static str,
    /// The ends of the 95% interval of our figure.
    pub interval: Option<[f64; 2]>,
    pub basis: Basis,
    /// Whether the claim holds: [`Verdict::decided`] of `verdict`.
    pub holds: Option<bool>,
    pub verdict: Verdict,
    /// The rule by which the claim is judged, as text.
    pub rule: String,
    /// The reason why the claim does not hold, cannot be told, or is not judged.
    pub why: String,
    /// The claim with the treatment at its ideal, if that was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<Oracle>,
}

impl Basis {
    /// The name of the basis on pages.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Predicted => "predicted",
            Basis::Calibrated => "calibrated",
            Basis::Derived => "derived",
            Basis::NotComparable => "not comparable",
        }
    }
}

impl Claim {
    /// Judges a claim by its rule. `why` is stated unless the claim holds.
    #[must_use]
    pub fn judged(mut self, paper: f64, ours: Interval, rule: Rule, why: impl Into<String>) -> Claim {
        self.paper = Some(paper);
        self.ours = Some(ours.mean);
        self.interval = ours.ends();
        self.rule = rule.to_string();
        self.decide(rule.judge(paper, ours), why);
        self
    }

    /// Sets the verdict of a claim that was predicted, and its reason unless the claim holds. A
    /// claim that was not predicted gets the reason, and stays without a judgment.
    pub fn decide(&mut self, verdict: Verdict, why: impl Into<String>) {
        let why = why.into();
        (self.verdict, self.why) = match (self.basis, verdict) {
            (Basis::Predicted, Verdict::Holds) => (verdict, String::new()),
            (Basis::Predicted, Verdict::CannotTell) if self.interval.is_some() => {
                (verdict, format!("the interval lies on both sides of the rule's border; {why}"))
            }
            (Basis::Predicted, _) => (verdict, why),
            _ => (self.unjudged(), why),
        };
        self.holds = self.verdict.decided();
    }

    fn unjudged(&self) -> Verdict {
        if self.basis == Basis::NotComparable { Verdict::NotComparable } else { Verdict::NotJudged }
    }

    /// A claim that this run does not judge, with the reason.
    #[must_use]
    pub fn open(mut self, paper: Option<f64>, rule: Rule, why: impl Into<String>) -> Claim {
        (self.paper, self.rule, self.why) = (paper, rule.to_string(), why.into());
        (self.verdict, self.holds) = (self.unjudged(), None);
        self
    }

    /// A claim whose figure was used to set a parameter, or follows from a figure that was. Such a
    /// claim predicts nothing, so it cannot hold.
    #[must_use]
    pub fn calibrated(self, paper: f64, ours: Option<Interval>, rule: Rule, why: impl Into<String>) -> Claim {
        let claim = Claim { basis: Basis::Calibrated, ..self };
        match ours {
            Some(ours) => claim.judged(paper, ours, rule, why),
            None => claim.open(Some(paper), rule, "not run"),
        }
    }

    /// Makes a claim without figures.
    pub fn new(id: &'static str, part: impl Into<String>, what: impl Into<String>, unit: &'static str) -> Claim {
        Claim {
            id,
            part: part.into(),
            what: what.into(),
            paper: None,
            ours: None,
            unit,
            interval: None,
            basis: Basis::Predicted,
            holds: None,
            verdict: Verdict::NotJudged,
            rule: String::new(),
            why: String::new(),
            oracle: None,
        }
    }
}

/// A run whose result must be negative if the mechanism is what the paper says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Falsifier {
    pub id: &'static str,
    /// The effect that must be seen.
    pub what: String,
    /// Whether the effect was seen; `None` if a study of this extent does not run the falsifier.
    pub holds: Option<bool>,
    /// The figures that were seen, by name.
    pub figures: Vec<(String, f64)>,
    /// The reason why the effect was not seen, or why the falsifier was not run.
    pub why: String,
}

/// A detail that the paper leaves open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unspecified {
    pub what: String,
    /// The choice that was made, and the reason.
    pub chosen: String,
    /// The range of the detail over real systems.
    pub range: String,
    /// The least and the greatest value of the headline figure over that range; `None` if the range
    /// was not run.
    pub effect: Option<[f64; 2]>,
    /// The reason why the range was not run, or the figure on which the effect is measured.
    pub note: String,
}

/// Hashes of what must not change between the commit of the rules and the full run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frozen {
    pub chip: String,
    pub profiles: String,
    pub rules: String,
    /// The commit from which the binary was built: [`crate::COMMIT`].
    pub commit: String,
}

/// The findings of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub study: &'static str,
    /// Whether the full study was run.
    pub full: bool,
    /// All claims, part by part.
    pub claims: Vec<Claim>,
    pub falsifiers: Vec<Falsifier>,
    /// Everything that the paper leaves open; items that decide the sign come first.
    pub unspecified: Vec<Unspecified>,
    pub frozen: Frozen,
    /// The redrawn figures, for the report.
    #[serde(skip)]
    pub figures: Vec<crate::figure::Figure>,
    /// What a reader must know first: stand-in workloads, missing runs.
    pub notes: Vec<String>,
}

impl Findings {
    /// The findings of a study of this extent, still empty.
    pub fn of(study: &'static str, extent: Extent, frozen: Frozen) -> Findings {
        Findings {
            study,
            full: extent == Extent::Full,
            claims: Vec::new(),
            falsifiers: Vec::new(),
            unspecified: Vec::new(),
            frozen,
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Checks that the findings are complete: every negative or missing verdict has its reason,
    /// only predicted claims are judged, every claim has a rule, and there is a falsifier.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self) -> Result<(), String> {
        for Claim { id, part, basis, holds, verdict, rule, why, .. } in &self.claims {
            let wrong = [
                (verdict.decided() != *holds, "has a verdict that contradicts `holds`"),
                (*verdict == Verdict::CannotTell && *basis != Basis::Predicted, "is judged, and was not predicted"),
                (*holds != Some(true) && why.is_empty(), "has no reason"),
                (holds.is_some() && *basis != Basis::Predicted, "is judged, and was not predicted"),
                (rule.is_empty(), "has no rule"),
            ];
            if let Some((_, what)) = wrong.iter().find(|(wrong, _)| *wrong) {
                return Err(format!("claim {id} {part} {what}"));
            }
        }
        match self.falsifiers.iter().find(|of| of.holds != Some(true) && of.why.is_empty()) {
            Some(of) => Err(format!("falsifier `{}` has no reason", of.id)),
            None if self.falsifiers.is_empty() => {
                Err("no run could show that the mechanism is another: no falsifier".to_owned())
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_without_a_reason_or_a_falsifier_are_no_result() {
        let ours = Interval { mean: 10.0, half: None };
        let falsifier = Falsifier::not_run("f", "no gain", "not run");
        let of = |claim: Claim, falsifiers: Vec<Falsifier>| {
            Findings { claims: vec![claim], falsifiers, ..Findings::of("s", Extent::Full, Frozen::default()) }.check()
        };
        let claim = |why: &str| Claim::new("A1", "", "gain", "%").judged(39.9, ours, Rule::Within(0.25), why);
        assert_eq!(of(claim("why"), vec![falsifier.clone()]), Ok(()));
        assert!(of(claim(""), vec![falsifier.clone()]).unwrap_err().contains("A1  has no reason"));
        assert!(of(claim("why"), Vec::new()).unwrap_err().contains("no falsifier"));
        assert!(
            of(claim("why"), vec![Falsifier { why: String::new(), ..falsifier.clone() }]).unwrap_err().contains("`f`")
        );
        let judged = Claim { basis: Basis::Derived, ..claim("why") };
        assert!(of(judged, vec![falsifier]).unwrap_err().contains("not predicted"));
    }

    #[test]
    fn only_a_predicted_claim_can_hold() {
        let ours = Interval { mean: 40.0, half: Some(1.0) };
        let claim = Claim::new("O1", "", "mean", "%").judged(39.9, ours, Rule::Within(0.25), "unused");
        assert_eq!((claim.holds, claim.why.as_str(), claim.interval), (Some(true), "", Some([39.0, 41.0])));
        let calibrated =
            Claim::new("O8", "", "share", "%").calibrated(40.0, Some(ours), Rule::Within(0.25), "set by it");
        assert_eq!((calibrated.holds, calibrated.why.as_str()), (None, "set by it"));
        // The band of 54 begins at 40.5, the interval ends at 41.
        let open = Claim::new("O3", "", "least", "%").judged(54.0, ours, Rule::Within(0.25), "why");
        assert_eq!((open.holds, open.verdict), (None, Verdict::CannotTell));
        assert_eq!(open.why, "the interval lies on both sides of the rule's border; why");
        let missed = Claim::new("O2", "", "greatest", "%").judged(61.8, ours, Rule::Within(0.25), "why");
        assert_eq!((missed.holds, missed.why.as_str()), (Some(false), "why"));
    }
}
