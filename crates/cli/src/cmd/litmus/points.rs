//! A point of a sweep of `litmus`.

use super::{Args, chip_of, played, verdicts_for};
use crate::cmd::sweep::{Matched, PointChips, Ready, Swept, key_names, listed, on_one_thread};
use baton_chip::Chip;
use baton_studio::subject::Figure;
use baton_studio::value::Value;
use clap::Args as _;
use indicatif::ProgressBar;
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// Estimated bytes of memory that a run takes: one round of a test at a time.
const MEMORY: u64 = 32 << 20;

/// Figures: path, unit, meaning; a figure whose unit ends with `!` is a whole number.
const FIGURES: [(&str, &str, &str); 10] = [
    ("tests", "tests!", "Tests that ran."),
    ("observed", "tests!", "Tests whose final condition was seen."),
    ("states", "states!", "Different final states, added over all tests."),
    ("forbidden", "tests!", "Tests whose condition is forbidden, or must always hold; null without --verdicts."),
    ("forbidden_seen", "tests!", "Tests in which a forbidden outcome was seen."),
    ("allowed", "tests!", "Tests whose condition is allowed; null without --verdicts."),
    ("allowed_seen", "tests!", "Allowed tests whose condition was seen."),
    ("without_verdict", "tests!", "Tests that the table of --verdicts does not have."),
    ("results.N.observed", "!", "1 if the final condition of this test was seen, otherwise 0."),
    ("results.N.states", "states!", "Different final states of this test."),
];

/// `baton litmus` as the subject of a sweep.
#[derive(Default)]
pub(crate) struct Litmus {
    chips: PointChips,
}

impl Litmus {
    fn chip(&self, args: &Args) -> anyhow::Result<Arc<(Chip, String)>> {
        self.chips.get(&args.chip, || chip_of(args))
    }
}

/// The figures of all tests together, and the rows that the command prints.
fn figures(args: &Args, chip: &Chip) -> anyhow::Result<Json> {
    let verdicts = verdicts_for(args, chip)?;
    let rows = on_one_thread(|| played(args, chip, &ProgressBar::hidden()))?;
    let mut found = json!({
        "tests": rows.len(),
        "observed": rows.iter().filter(|row| row.observed).count(),
        "states": rows.iter().map(|row| row.states).sum::<usize>(),
    });
    if let Some(verdicts) = verdicts {
        let compared = verdicts.count(&rows);
        found["forbidden"] = compared.forbidden.into();
        found["forbidden_seen"] = compared.wrong.len().into();
        found["allowed"] = compared.allowed.into();
        found["allowed_seen"] = (compared.allowed - compared.missed.len()).into();
        found["without_verdict"] = compared.unknown.into();
    }
    found["results"] = serde_json::to_value(rows)?;
    Ok(found)
}

impl Swept for Litmus {
    const COMMAND: &'static str = "litmus";
    const NOT_OF_A_POINT: &'static [&'static str] = &["outcomes", "model", "json"];
    const EXPANDED: &'static [&'static str] = &["chip", "cores", "set", "window"];
    const TAKES_KEYS: bool = true;

    fn options() -> clap::Command {
        Args::augment_args(clap::Command::new("litmus"))
    }

    fn ready(&self, point: &Matched) -> anyhow::Result<Ready> {
        let args: Args = point.args()?;
        let known = self.chip(&args)?;
        Ok(Ready {
            identity: known.1.clone(),
            cost: f64::from(args.runs),
            memory: MEMORY,
            run: Box::new(move || figures(&args, &known.0)),
        })
    }

    fn value(&self, point: &Matched, name: &str) -> anyhow::Result<Option<Value>> {
        PointChips::value(name, || self.chip(&point.args()?))
    }

    fn names(&self) -> Vec<String> {
        key_names()
    }

    fn figures(&self) -> Vec<Figure> {
        listed(&FIGURES)
    }

    fn usual(&self, point: &Matched) -> Vec<String> {
        let mut usual = vec!["tests", "observed", "states"];
        if point.args().is_ok_and(|args: Args| args.verdicts.is_some()) {
            usual.extend(["forbidden_seen", "allowed", "allowed_seen"]);
        }
        usual.into_iter().map(ToOwned::to_owned).collect()
    }
}
