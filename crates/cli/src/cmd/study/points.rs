//! A point of a sweep of `study`.

use super::{Args, Bar, conducted, inputs};
use crate::cmd::sweep::{Matched, Ready, Swept, content, key_names, listed};
use anyhow::Context;
use baton_studies::kit::Inputs;
use baton_studies::{Findings, Verdict};
use baton_studio::subject::Figure;
use baton_studio::value::Value;
use clap::Args as _;
use indicatif::ProgressBar;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::thread::available_parallelism;

/// Estimated bytes of memory that a study takes for each thread: one simulation at a time.
const A_THREAD: u64 = 96 << 20;

/// Figures: path, unit, meaning; a figure whose unit ends with `!` is a whole number.
const FIGURES: [(&str, &str, &str); 14] = [
    ("verdicts.holds", "claims!", "Claims that hold."),
    ("verdicts.does_not_hold", "claims!", "Claims that do not hold."),
    ("verdicts.cannot_tell", "claims!", "Claims that only a part of our figure's interval meets."),
    ("verdicts.cannot_show", "claims!", "Claims that the treatment at its ideal misses too."),
    ("verdicts.not_comparable", "claims!", "Claims for which the paper leaves out what a comparison needs."),
    ("verdicts.not_judged", "claims!", "Claims that this extent does not judge, or whose figure set a parameter."),
    ("falsifiers_seen", "falsifiers!", "Falsifiers whose effect was seen."),
    ("falsifiers_not_seen", "falsifiers!", "Falsifiers whose effect was not seen."),
    ("claims.N.paper", "", "The paper's figure of claim N, from 0, in the claim's own unit."),
    ("claims.N.ours", "", "Our figure of the claim."),
    ("claims.N.interval.N", "", "Ends of the 95% interval of our figure: 0 the lower, 1 the upper."),
    ("claims.N.holds", "!", "1 if the claim holds, 0 if it does not, null for other verdicts."),
    ("falsifiers.N.holds", "!", "1 if the effect of falsifier N, from 0, was seen, 0 if not, null if it was not run."),
    ("falsifiers.N.figures.N.1", "", "A figure that was seen."),
];

/// `baton study` as the subject of a sweep.
pub(crate) struct Study;

/// The whole chips, the contents of the profiles, and the commit: everything that decides the findings beside the options.
fn identity(inputs: &Inputs) -> anyhow::Result<String> {
    let mut text = baton_studies::COMMIT.to_owned();
    for chip in &inputs.chips {
        let whole = chip.with(None, &[]).map_err(|why| chip.wrong(why))?;
        let _ = write!(text, "\n{whole}");
    }
    for profiles in &inputs.profiles {
        let _ = write!(text, "\n{}", content(profiles));
    }
    Ok(text)
}

/// The findings, with their verdicts counted.
fn figures(findings: &Findings) -> anyhow::Result<Json> {
    let claims = |verdict: Verdict| findings.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let falsifiers = |seen: bool| findings.falsifiers.iter().filter(|one| one.holds == Some(seen)).count();
    let mut found = serde_json::to_value(findings)?;
    found["verdicts"] = json!({
        "holds": claims(Verdict::Holds),
        "does_not_hold": claims(Verdict::DoesNotHold),
        "cannot_tell": claims(Verdict::CannotTell),
        "cannot_show": claims(Verdict::CannotShow),
        "not_comparable": claims(Verdict::NotComparable),
        "not_judged": claims(Verdict::NotJudged),
    });
    found["falsifiers_seen"] = falsifiers(true).into();
    found["falsifiers_not_seen"] = falsifiers(false).into();
    Ok(found)
}

impl Swept for Study {
    const COMMAND: &'static str = "study";
    const NOT_OF_A_POINT: &'static [&'static str] = &["json", "out", "markdown", "figures"];
    const EXPANDED: &'static [&'static str] = &["chip", "set", "profiles"];
    const TAKES_KEYS: bool = true;
    const HAS_SEED: bool = false;

    fn options() -> clap::Command {
        Args::augment_args(clap::Command::new("study"))
    }

    fn ready(&self, point: &Matched) -> anyhow::Result<Ready> {
        let args: Args = point.args()?;
        let (entry, inputs) = inputs(&args)?;
        // The study checks its chips itself.
        (entry.open)(&inputs).map_err(super::bad)?;
        let identity = identity(&inputs)?;
        let run = move || {
            let folder = tempfile::tempdir().context("a folder for the study")?;
            let (findings, _) = conducted(&args, entry, &inputs, folder.path(), &Bar(ProgressBar::hidden()))?;
            figures(&findings)
        };
        let threads = available_parallelism().map_or(1, |threads| threads.get() as u64);
        Ok(Ready { identity, cost: 1.0, memory: threads * A_THREAD, run: Box::new(run) })
    }

    // A study has several chips.
    fn value(&self, _: &Matched, _: &str) -> anyhow::Result<Option<Value>> {
        Ok(None)
    }

    fn names(&self) -> Vec<String> {
        key_names()
    }

    fn figures(&self) -> Vec<Figure> {
        listed(&FIGURES)
    }

    fn usual(&self, _: &Matched) -> Vec<String> {
        ["verdicts.holds", "verdicts.does_not_hold", "verdicts.cannot_tell", "falsifiers_not_seen"]
            .map(ToOwned::to_owned)
            .to_vec()
    }
}
