//! `baton study`: one paper's claims beside what this system shows.

use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_studies::ocor::Ocor;
use baton_studies::{Extent, Findings, Progress, StudyError, conduct, page};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::process::ExitCode;

/// Which study, and how much of it.
#[derive(clap::Args)]
#[command(after_help = "\
Studies: ocor (docs/studies/ocor.md). A study that was interrupted goes on where it was: what was
run lies in DIR/cache.

Examples:
  baton study ocor --quick                    five programs, some minutes: study-ocor/report.html
  baton study ocor --quick --json             what docs/studies.md describes
  baton study ocor --out DIR                  every program and experiment
  baton study ocor --chip my.toml --profiles mine    another chip, other programs")]
pub(crate) struct Args {
    /// Which study.
    #[arg(value_name = "NAME")]
    name: String,
    /// Fewer seeds and programs, never shorter runs.
    #[arg(long)]
    quick: bool,
    /// As JSON (docs/studies.md).
    #[arg(long)]
    json: bool,
    /// Where the report and the cache go. Left out: `study-NAME`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The chip file.
    #[arg(long, value_name = "FILE", default_value = "chips/ocor64.toml")]
    chip: PathBuf,
    /// The folder of profiles.
    #[arg(long, value_name = "DIR", default_value = "profiles/ocor")]
    profiles: PathBuf,
}

/// The studies that there are.
const STUDIES: [&str; 1] = ["ocor"];

struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, runs: usize, cached: usize) {
        self.0.set_length(runs as u64);
        self.0.set_position(cached as u64);
    }

    fn done(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.inc(1);
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.name != "ocor" {
        return Err(BadInput::unknown("study", &args.name, STUDIES).into());
    }
    let study = Ocor::open(&args.chip, &args.profiles).map_err(bad)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("study-{}", args.name)));
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} {msg}").context("progress bar")?);
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    let (findings, work) = conduct(&study, extent, &out, &Bar(bar.clone())).map_err(bad)?;
    bar.finish_and_clear();
    if work.damaged != 0 {
        let files = work.damaged;
        ui::warn(format_args!(
            "{files} file(s) in {} were damaged, and their runs done again",
            out.join("cache").display()
        ));
    }
    let report = out.join("report.html");
    std::fs::write(&report, page::html(&findings)).with_context(|| format!("cannot write {}", report.display()))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings).context("the findings as JSON")?);
    } else {
        print(&findings);
    }
    eprintln!("{} runs, {} from the cache; report: {}", work.run + work.cached, work.cached, report.display());
    Ok(ExitCode::SUCCESS)
}

fn bad(error: StudyError) -> anyhow::Error {
    match error {
        StudyError::Unknown { .. } | StudyError::Input(_) => BadInput::new(error).into(),
        StudyError::Run { .. } | StudyError::Folder { .. } => error.into(),
    }
}

fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "not judged",
    }
}

/// The claims and falsifiers, a line each.
fn print(findings: &Findings) {
    for note in &findings.notes {
        println!("{note}");
    }
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    println!("\n{:5} {:>8} {:>8}  {:14} what", "claim", "paper", "ours", "verdict");
    for claim in &findings.claims {
        let part = if claim.part.is_empty() { String::new() } else { format!("{}: ", claim.part) };
        let (paper, ours, verdict) = (cell(claim.paper), cell(claim.ours), verdict(claim.holds));
        println!("{:5} {paper:>8} {ours:>8}  {verdict:14} {part}{}", claim.id, claim.what);
    }
    println!("\n{:14} {:14} what must be seen", "falsifier", "verdict");
    for falsifier in &findings.falsifiers {
        println!("{:14} {:14} {}", falsifier.id, verdict(falsifier.holds), falsifier.what);
        for (name, value) in &falsifier.figures {
            println!("{:29} {name} {value:.2}", "");
        }
    }
}
