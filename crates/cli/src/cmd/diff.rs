//! `baton diff`: two profiles side by side.

use crate::ui;
use baton_report::diff::diff;
use baton_report::terminal::{self, Style};
use std::path::PathBuf;
use std::process::ExitCode;

/// The two profiles.
#[derive(clap::Args)]
#[command(after_help = "\
Locks are matched by the name and kind of their class. Changes that are no more than noise stand in
brackets.

Examples:
  baton diff before after
  baton diff before mcs --json | jq '.locks[0].wait_each_ns'")]
pub(crate) struct Args {
    /// The directory of the first profile.
    #[arg(value_name = "DIR1")]
    before: PathBuf,
    /// The directory of the second profile.
    #[arg(value_name = "DIR2")]
    after: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let before = super::report::open(&args.before)?;
    let after = super::report::open(&args.after)?;
    let found = diff(&before, &after);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print!("{}", terminal::diff(&found, Style { color: ui::paints() }));
    }
    Ok(ExitCode::SUCCESS)
}
