//! `baton doctor`: the features of this machine, as it describes them and as measured, and the
//! missing ones.
//!
//! | file | holds |
//! | --- | --- |
//! | [`findings`] | what was found, and how it is measured step by step |
//! | [`show`] | the findings for people |
//! | [`advice`] | how a thread should wait here |
//! | [`calibrate`] | the findings as a chip file |
//! | [`waits`] | what a waiting thread costs here, by policy |
//! | [`convoys`] | how long convoys last here, and on a chip that stands for this machine |

mod advice;
mod calibrate;
mod convoys;
mod findings;
mod show;
mod waits;

use crate::chips::ChipArgs;
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_chip::Chip;
use baton_host::costs::Budget;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
Times are medians; in brackets the range in which four fifths of the sample lie. Measure on a
quiet machine.

Examples:
  baton doctor                        a look, some four seconds
  baton doctor --json | jq .waits     which wait policies are here, and why not
  baton doctor --advice               how a thread should wait here, with the measured prices
  baton doctor --waits                what a waiting thread costs here, by policy
  baton doctor --calibrate            measure longer, and keep it for `whatif` and `try`
  baton doctor --convoys              are convoys as long as on the calibrated chip?
  baton doctor --calibrate --fixed -o host.toml    one chip file, with memory of fixed latencies")]
pub(crate) struct Args {
    /// Measure longer and write this machine as two chip files: with caches, directory and network, which `sim` takes, and with
    /// memory of fixed latencies, which `whatif` and `try` take.
    #[arg(long)]
    calibrate: bool,
    /// Write one chip file, here. Left out: this machine's two, in the user's data folder (XDG_DATA_HOME/baton/machines).
    #[arg(long, short, value_name = "FILE", requires = "calibrate")]
    output: Option<PathBuf>,
    /// Write only the chip with memory of fixed latencies.
    #[arg(long, requires = "calibrate")]
    fixed: bool,
    /// Instead: start convoys on purpose, and tell how long they last here and on the chip that stands for this machine.
    #[arg(long, conflicts_with = "calibrate")]
    convoys: bool,
    /// Instead: tell how a thread should wait on this machine, and why.
    #[arg(long, conflicts_with_all = ["calibrate", "convoys"])]
    advice: bool,
    /// Instead: measure each wait policy that is here: its wake-up, its way in, and how much a waiter slows a thread on the same core.
    #[arg(long, conflicts_with_all = ["calibrate", "convoys", "advice"])]
    waits: bool,
    /// The chip for --convoys: a file, or a name of `baton chips list`. Left out: this machine, as it was calibrated, else a
    /// built-in sample host.
    #[arg(long, value_name = "FILE", requires = "convoys")]
    chip: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.convoys {
        convoys::run(&ChipArgs::named(args.chip).for_replay(), args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.waits {
        let costs = waits::measure();
        let text = if args.json { serde_json::to_string_pretty(&costs)? + "\n" } else { costs.text() };
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let forms: &[bool] = if args.fixed || args.output.is_some() { &[args.fixed] } else { &[false, true] };
    let path = |&fixed: &bool| Some((args.output.clone().or_else(|| crate::places::calibration(fixed))?, fixed));
    let outputs: Vec<(PathBuf, bool)> = forms.iter().filter(|_| args.calibrate).filter_map(path).collect();
    if args.calibrate && outputs.is_empty() {
        let message = "neither XDG_DATA_HOME nor HOME names a folder for the calibration";
        return Err(BadInput::new(message).hint("name a file with -o").into());
    }
    let budget = if args.calibrate { Budget::CALIBRATE } else { Budget::LOOK };
    let findings = findings::find(budget, findings::Progress::new());
    if args.advice {
        let advice = advice::of(&findings);
        if args.json {
            println!("{}", serde_json::to_string_pretty(&advice)?)
        } else {
            print!("{}", advice.text())
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        print!("{}", show::text(&findings));
    }
    for (output, fixed) in outputs {
        let chip = calibrate::chip_file(&findings, fixed)?;
        crate::folder::write_whole(&output, chip.as_bytes())
            .with_context(|| format!("cannot write {}", output.display()))?;
        ui::note(format_args!("wrote {}", output.display()));
        if !fixed && !args.json {
            let chip = Chip::from_toml(&chip, "the calibrated chip")?;
            print!("\n{}", calibrate::verify(&findings, &chip)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}
