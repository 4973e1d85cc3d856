//! A point of a sweep of `whatif`.

use super::{Args, SCHEMA_TEXT, Told, predicted, recorded_bytes};
use crate::cmd::sweep::{Matched, PointChips, Ready, Swept, key_names, of_schema, on_one_thread};
use baton_chip::Chip;
use baton_replay::predict::MEMORY_A_BYTE;
use baton_studio::subject::{Failure, Figure, Why};
use baton_studio::value::Value;
use clap::Args as _;
use serde_json::Value as Json;
use std::sync::Arc;

/// Estimated bytes of memory that a prediction takes beside its recording.
const FIXED: u64 = 64 << 20;

/// `baton whatif` as the subject of a sweep.
#[derive(Default)]
pub(crate) struct Whatif {
    chips: PointChips,
}

impl Whatif {
    fn chip(&self, args: &Args) -> anyhow::Result<Arc<(Chip, String)>> {
        self.chips.get(&args.chip, || args.chip.clone().for_replay().open())
    }
}

impl Swept for Whatif {
    const COMMAND: &'static str = "whatif";
    // `--check` runs the recorded program, on this machine and at this time.
    const NOT_OF_A_POINT: &'static [&'static str] = &["check", "json", "html"];
    const EXPANDED: &'static [&'static str] = &["chip", "cores", "set", "window"];
    const TAKES_KEYS: bool = true;

    fn options() -> clap::Command {
        Args::augment_args(clap::Command::new("whatif"))
    }

    fn ready(&self, point: &Matched) -> anyhow::Result<Ready> {
        let args: Args = point.args()?;
        let known = self.chip(&args)?;
        let bytes = recorded_bytes(&args.directory);
        let locks = args.lock.iter().map(|names| names.split(',').count()).sum::<usize>().max(1);
        let run = move || {
            let text = on_one_thread(|| predicted(&args, Told::Nothing)?.json(&args))?;
            Ok(serde_json::from_str(&text)?)
        };
        Ok(Ready {
            identity: known.1.clone(),
            cost: bytes as f64 * (locks + 2) as f64,
            memory: FIXED.saturating_add(bytes.saturating_mul(MEMORY_A_BYTE)),
            run: Box::new(run),
        })
    }

    fn value(&self, point: &Matched, name: &str) -> anyhow::Result<Option<Value>> {
        PointChips::value(name, || self.chip(&point.args()?))
    }

    fn names(&self) -> Vec<String> {
        key_names()
    }

    fn figures(&self) -> Vec<Figure> {
        of_schema(SCHEMA_TEXT)
    }

    // The row of the recorded lock is the first one, and what was asked for follows.
    fn usual(&self, _: &Matched) -> Vec<String> {
        ["results.1.time_ns.median", "results.1.speedup", "results.1.overhead_ns.median", "trustworthy"]
            .map(ToOwned::to_owned)
            .to_vec()
    }

    fn failed(&self, result: &Json) -> Option<Failure> {
        let rows = result["results"].as_array().into_iter().flatten();
        let mut failed = rows.filter(|row| !row["failed"].is_null()).map(|row| {
            let (lock, seeds) = (row["lock"].as_str().unwrap_or("a lock"), &row["failed"]["seeds"]);
            format!(
                "{lock}: its replay failed with {seeds} seeds: {}",
                row["failed"]["why"].as_str().unwrap_or_default()
            )
        });
        failed.next_back().map(|why| Failure::new(Why::Failed, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_replay_is_the_failure_of_its_point() {
        let of = |text: &str| Whatif::default().failed(&serde_json::from_str(text).unwrap());
        assert_eq!(of(r#"{"results": [{"lock": "mcs"}, {"lock": "clh", "failed": null}]}"#), None);
        let failed = of(r#"{"results": [{"lock": "mcs", "failed": {"seeds": 2, "why": "no end"}}]}"#).unwrap();
        assert_eq!(failed.reason, "mcs: its replay failed with 2 seeds: no end");
    }
}
