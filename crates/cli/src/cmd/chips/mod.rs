//! `baton chips`: lists the chip files, and shows one of them with a picture.
//!
//! | file | holds |
//! | --- | --- |
//! | [`sketch`] | the picture in characters |
//! | [`floor`] | the picture as SVG |
//! | [`page`] | the page around it |

mod floor;
mod page;
mod sketch;

use super::list::Entry;
use crate::chips::{self, Change};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_chip::Chip;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton chips list
  baton chips show ocor64
  baton chips show ocor64 --cores 16 --set home.places=4 > small.toml
  baton chips show opteron6272x4 --plot opteron.html")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The chip files of a folder
    #[command(after_help = "\
Examples:
  baton chips list
  baton chips list --dir my-chips --json")]
    List {
        /// Where to look for chip files. Left out: chips/ here, this machine's calibration, and what is shipped.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// One chip: every key and its value, as a chip file, under a picture
    #[command(after_help = "\
Examples:
  baton chips show ocor64
  baton chips show ocor64 --cores 16 --set home.places=4 > small.toml
  baton chips show opteron6272x4 --plot opteron.html")]
    Show {
        /// Chip file, or a name of `baton chips list`.
        #[arg(value_name = "CHIP")]
        chip: PathBuf,
        #[command(flatten)]
        change: Change,
        /// As JSON: every key by its name, and where cores, homes and controllers hang.
        #[arg(long)]
        json: bool,
        /// Draw the floor plan into this page.
        #[arg(long, value_name = "PAGE.html")]
        plot: Option<PathBuf>,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List { dir, json } => super::list::print(&files(dir.as_deref())?, json),
        Command::Show { chip, change, json, plot } => show(&change.open(&chip)?, json, plot.as_deref()),
    }
}

fn show(chip: &Chip, json: bool, plot: Option<&Path>) -> anyhow::Result<ExitCode> {
    if let Some(path) = plot {
        let page = page::page(chip);
        std::fs::write(path, page).map_err(|e| BadInput::new(format!("cannot write {}: {e}", path.display())))?;
        ui::note(format_args!("drew {}", path.display()));
    }
    if json {
        let plan = chip.plan().map(|plan| {
            serde_json::json!({
                "nodes": plan.nodes, "cores": plan.cores, "homes": plan.homes, "controllers": plan.controllers,
            })
        });
        let whole = serde_json::json!({ "schema": "baton-chip/1", "keys": chips::echo(chip), "plan": plan });
        println!("{}", serde_json::to_string_pretty(&whole)?);
    } else {
        // The picture is a comment, so that the whole output is a chip file.
        for line in sketch::sketch(chip).lines() {
            println!("{}", format!("# {line}").trim_end());
        }
        println!();
        print!("{}", chip.to_toml());
    }
    Ok(ExitCode::SUCCESS)
}

/// The chip files of a directory; without one, those of all folders that may hold chip files. A
/// file that is not a valid chip is listed with the reason.
pub(super) fn files(dir: Option<&Path>) -> anyhow::Result<Vec<Entry>> {
    let Some(dir) = dir else {
        return Ok(chips::files().iter().map(|path| entry(path)).collect());
    };
    let entries = std::fs::read_dir(dir).map_err(|e| {
        BadInput::new(format!("cannot look for chip files in `{}`: {e}", dir.display()))
            .hint("name the directory with --dir, or write a chip file with `baton doctor --calibrate`")
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot look for chip files in `{}`", dir.display()))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths.iter().map(|path| entry(path)).collect())
}

fn entry(path: &Path) -> Entry {
    let comment = baton_trace::files::read_text(path, 4 << 20).unwrap_or_default();
    let comment: Vec<&str> = comment.lines().filter_map(|l| l.strip_prefix("# ")).take(2).collect();
    let (what, can, limits) = match chips::text(path).and_then(|text| text.chip(None, &[])) {
        Ok(chip) => (summary(&chip), vec![chip.model().name().to_owned()], String::new()),
        Err(error) => ("not a chip".to_owned(), Vec::new(), error.to_string()),
    };
    Entry { name: path.display().to_string(), what, limits, source: comment.join(" "), can, here: None }
}

/// One line about a chip.
fn summary(chip: &Chip) -> String {
    let core = &chip.core;
    let ghz = core.clock.0 as f64 / 1e9;
    let clusters = core.count.div_ceil(core.per_cluster.max(1));
    let cores = format!("{}: {} cores at {ghz:.2} GHz", chip.name, core.count);
    match &chip.coherent {
        None => format!("{cores}, {clusters} clusters, fixed latencies"),
        Some(coherent) => format!(
            "{cores}, {}, {} homes, {} controllers",
            page::network_name(chip, &coherent.network),
            coherent.home.banks,
            coherent.dram.controllers
        ),
    }
}
