//! `baton sim`: a micro-workload on a simulated chip, once, or over values of its parameters.
//!
//! | file | holds |
//! | --- | --- |
//! | [`args`] | the options |
//! | [`one`] | one run |
//! | [`sweep`] | a run for each value of one or two parameters, and a plot |
//! | [`choice`] | the best of several values at each point of a sweep |
//! | [`drawing`] | the page of a sweep or of pairs |
//! | [`pairs`] | ping-pong between all pairs of cores |
//! | [`inputs`] | options of the workloads with packets, jobs and vectors |
//! | [`workload`] | from the command line to guest threads |
//! | [`apps`] | applications beside the main one |
//! | [`points`] | a point of `baton sweep` |
//! | [`places`] | where threads may run, and cores that are off |
//! | [`probe`] | what guests record about their lock |
//! | [`shape`] | declarations of figures: their JSON, schema, page and units |
//! | [`figures`] | from the outcome to JSON and a table |
//! | [`measured`] | the figures that workloads time of themselves |
//! | [`system`] | the figures of applications and CPUs, in both forms |
//! | [`energy`] | the energy account, in both forms |
//! | [`clocks`] | how a governor set the cores' clocks, in both forms |

mod apps;
mod args;
mod choice;
mod clocks;
mod drawing;
mod energy;
mod figures;
mod inputs;
mod measured;
mod one;
mod pairs;
mod places;
mod points;
mod probe;
mod shape;
mod sweep;
mod system;
mod workload;

use crate::chips;
use crate::cmd::sweep::Matched;
use crate::error::BadInput;
pub(crate) use args::Args;
use baton_chip::Stop;
pub(crate) use points::Sim;
use std::process::ExitCode;

/// Prints every figure of a run, with its unit and its meaning; as JSON, the schema of the results.
pub(crate) fn list_figures(json: bool) -> anyhow::Result<ExitCode> {
    let shape = <figures::SimFigures as shape::Shaped>::shape();
    if json {
        println!("{}", serde_json::to_string_pretty(&shape::Published(&shape))?);
    } else {
        let rows = shape.numbers("").into_iter().map(|(path, of)| vec![path, of.unit.to_owned(), of.what.to_owned()]);
        print!("{}", crate::ui::table(&["figure", "unit", "meaning"], &rows.collect::<Vec<_>>()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The figures of one run, as the JSON that `--json` prints. `stop` ends the run.
pub(crate) fn json(point: &Matched, stop: &Stop) -> anyhow::Result<String> {
    let args = Sim::args(point)?;
    let chip = args.chip.open()?;
    Ok(serde_json::to_string_pretty(&one::run_until(&args, &chip, stop)?)?)
}

/// The whole configuration of the chip that the options name, as JSON.
pub(crate) fn chip_json(point: &Matched) -> anyhow::Result<String> {
    Ok(chips::echo(&Sim::args(point)?.chip.open()?).to_string())
}

pub(crate) fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    places::settle(&mut args)?;
    if args.pairs {
        return pairs::run(&args);
    }
    if !args.sweep.is_empty() {
        return sweep::run(&args);
    }
    if args.plot.is_some() {
        return Err(BadInput::new("--plot draws a sweep or pairs").hint("add --sweep threads=1,2,4 or --pairs").into());
    }
    let chip = args.chip.open()?;
    let figures = one::run(&args, &chip)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print!("{}", figures.text());
    }
    Ok(ExitCode::SUCCESS)
}
