//! `baton litmus`: litmus tests on a simulated chip.
//!
//! | file | holds |
//! | --- | --- |
//! | [`files`] | finds and reads the files |
//! | [`fits`] | whether tests can run on a chip |
//! | [`play`] | a test on the chip, over and over |
//! | [`points`] | a point of a sweep |
//! | [`model`] | the abstract machine's verdicts on tests |
//! | [`verdicts`] | compares the states that were seen with a reference |

mod files;
mod fits;
mod model;
mod play;
mod points;
mod verdicts;

pub(crate) use points::Litmus;

use crate::chips::ChipArgs;
use crate::ui;
use baton_chip::Chip;
use baton_litmus::{Histogram, Quantifier};
use files::Found;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use verdicts::Verdicts;

/// Options of `baton litmus`.
#[derive(clap::Args)]
#[command(after_help = "\
Reads herd's x86-64 format: movq and movl, mfence, xchg, lock-prefixed instructions, and a dialect
with queues: enqueue, dequeue, prepush (docs/reference/litmus.md). `observed` says whether the
final condition was seen: for `exists` and `~exists` whether some run ended in such a state, for
`forall` whether every run did.

Examples:
  baton litmus crates/litmus/tests/litmus
  baton litmus SB.litmus --outcomes
  baton litmus tests/ --runs 10000 --seed 7 --json
  baton litmus tests/ --verdicts tests/verdicts.csv
  baton litmus tests/ --set core.store_buffer=0
  baton litmus queues/ --chip caf16 --verdicts queues/verdicts.csv
  baton litmus queues/ --model > queues/verdicts.csv")]
pub(crate) struct Args {
    /// Litmus files, and folders that are searched for *.litmus to any depth.
    #[arg(required = true, value_name = "DIR|FILE")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    chip: ChipArgs,
    /// Runs of each test, each with other noise.
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    runs: u32,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Show every final state and how often it was seen.
    #[arg(long)]
    outcomes: bool,
    /// Compare with a table of suite, test and verdict_x86_tso (Allow, Forbid or Required-holds): exit code 1 if anything
    /// forbidden was seen. Tests with queues have verdict_caf_wait and verdict_caf_pass, by device.younger_stores.
    #[arg(long, value_name = "CSV")]
    verdicts: Option<PathBuf>,
    /// Play nothing: write the table of verdicts that the abstract machine gives.
    #[arg(long, conflicts_with_all = ["verdicts", "json", "outcomes"])]
    model: bool,
    /// Leave out, with a warning, the files that cannot be read.
    #[arg(long)]
    skip_unsupported: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A test's result: an element of the JSON list.
#[derive(Serialize)]
struct Row {
    suite: String,
    test: String,
    /// Whether the final condition held: for `exists` and `~exists` in some state that was seen,
    /// for `forall` in every one.
    observed: bool,
    /// Number of different final states.
    states: usize,
    runs: u32,
    condition: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<Vec<Seen>>,
}

/// A final state, the number of runs that ended in it, and whether it fulfils the test's condition.
#[derive(Serialize)]
struct Seen {
    state: String,
    times: u64,
    condition: bool,
}

/// The chip of the tests.
fn chip_of(args: &Args) -> anyhow::Result<Chip> {
    args.chip.open_or(DEFAULT)
}

/// The table of verdicts that was named, for this chip.
fn verdicts_for(args: &Args, chip: &Chip) -> Result<Option<Verdicts>, crate::error::BadInput> {
    let column = model::column(model::of(chip).younger_stores);
    args.verdicts.as_deref().map(|path| Verdicts::open(path, column)).transpose()
}

/// Settings that make the built-in sample a small chip of eight cores with store buffers, for a
/// user who names no chip file.
const DEFAULT: &[&str] = &[
    "chip.name=litmus8",
    "core.count=8",
    "core.per_cluster=2",
    "core.clusters_per_socket=2",
    "core.store_buffer=16",
    "noise.start=0",
    "noise.latency=0.2",
];

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.model {
        let tests = files::find(&args.paths, args.skip_unsupported)?;
        print!("{}", model::table(&tests)?);
        return Ok(ExitCode::SUCCESS);
    }
    let chip = chip_of(&args)?;
    let verdicts = verdicts_for(&args, &chip)?;
    let bar = ProgressBar::no_length().with_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} tests {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let rows = played(&args, &chip, &bar)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", text(&rows));
    }
    Ok(match verdicts {
        Some(verdicts) => verdicts.compare(&rows),
        None => ExitCode::SUCCESS,
    })
}

/// What the command prints with `--json`.
pub(crate) fn json(args: &Args) -> anyhow::Result<String> {
    let chip = chip_of(args)?;
    Ok(serde_json::to_string_pretty(&played(args, &chip, &ProgressBar::hidden())?)?)
}

/// Plays each test on the chip.
fn played(args: &Args, chip: &Chip, bar: &ProgressBar) -> anyhow::Result<Vec<Row>> {
    let tests = files::find(&args.paths, args.skip_unsupported)?;
    fits::check(&tests, chip)?;
    bar.set_length(tests.len() as u64);
    let played: Result<Vec<Row>, anyhow::Error> = tests
        .par_iter()
        .map(|found| {
            let seen = play::play(found, chip, args.runs, args.seed)?;
            bar.inc(1);
            Ok(row(found, &seen, args))
        })
        .collect();
    bar.finish_and_clear();
    played
}

fn row(found: &Found, seen: &Histogram, args: &Args) -> Row {
    let test = &found.test;
    let outcome = |(state, times): (&Vec<u64>, &u64)| Seen {
        state: test.describe(state),
        times: *times,
        condition: test.holds(&test.condition.proposition, state),
    };
    Row {
        suite: found.suite.clone(),
        test: test.name.clone(),
        observed: test.observed(seen.keys()),
        states: seen.len(),
        runs: args.runs,
        condition: match test.condition.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        },
        outcomes: args.outcomes.then(|| seen.iter().map(outcome).collect()),
    }
}

fn text(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for row in rows {
        let observed = if row.observed { "yes" } else { "no" };
        let cells = [&row.suite, &row.test, row.condition, observed];
        lines.push(
            cells.iter().map(|cell| (*cell).to_owned()).chain([row.states.to_string(), row.runs.to_string()]).collect(),
        );
        for seen in row.outcomes.iter().flatten() {
            let mark = if seen.condition { "*" } else { "" };
            lines.push(vec![String::new(), seen.state.clone(), mark.into(), seen.times.to_string(), String::new()]);
        }
    }
    let seen = rows.iter().filter(|row| row.observed).count();
    let table = ui::table(&["suite", "test", "condition", "observed", "states", "runs"], &lines);
    format!("{table}\n{} tests, {seen} observed\n", rows.len())
}
