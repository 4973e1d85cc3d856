//! `baton noc`: the network on chip, without cores and caches.

mod explain;
mod options;
mod page;
mod points;
mod print;
mod replay;
mod sweep;

use crate::cmd::sweep::Matched;
use crate::error::Interrupted;
use anyhow::Context;
use baton_chip::Stop;
use baton_noc::experiment::Experiment;
use clap::FromArgMatches;
use options::{Options, input};
pub(crate) use points::Noc;
use serde_json::Value;
use std::process::ExitCode;

/// Options of one run at one load, or a subcommand.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = options::help("\
Rates are packets a node a cycle. Latencies are cycles, from creation at the source to the tail
flit's leaving.

Examples:
  baton noc --topology mesh --size 8x8 --vcs 6 --buffer 4 --traffic uniform --rate 0.1
  baton noc --topology torus --size 8x8 --routing xy --traffic tornado --rate 0.2 --json
  baton noc --rate 1 --outstanding 4 --batch 1000 --reply 5
  baton noc sweep --traffic transpose --rates 0.01..0.15 --plot curve.html
  baton noc replay trace.tra
  baton noc explain --topology torus --size 4x4 --vcs 1 --routing table --allow-deadlock \\
      --rate 0.5")
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Box<Options>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Latency against load, and the saturation load by bisection
    Sweep(sweep::Args),
    /// Send the packets of a recorded trace, dependencies and all
    Replay(replay::Args),
    /// Why is it slow, or stuck: where packets wait, who waits for whom, one packet's journey
    Explain(explain::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(Command::Sweep(sweep)) => sweep::run(sweep),
        Some(Command::Replay(replay)) => replay::run(replay),
        Some(Command::Explain(explain)) => explain::run(explain),
        None => one(&args.options, args.json),
    }
}

fn one(options: &Options, json: bool) -> anyhow::Result<ExitCode> {
    let experiment = options.experiment()?;
    if json {
        println!("{}", serde_json::to_string_pretty(&figures(options, &experiment, &|| true)?)?);
        return Ok(ExitCode::SUCCESS);
    }
    let result = experiment.run().map_err(|e| options.blame(e))?;
    let (technology, bits) = (options.technology()?, options.flit_bits());
    let energy = technology.price(&experiment.network, &result, bits).map_err(input)?;
    let area = technology.area(&experiment.network, bits).map_err(input)?;
    print!("{}", print::text(&result, &energy, &area));
    Ok(ExitCode::SUCCESS)
}

/// The figures of one run, as the JSON that `--json` prints. `stop` ends the run.
pub(crate) fn json(point: &Matched, stop: &Stop) -> anyhow::Result<String> {
    let options = Options::from_arg_matches(&point.matches).context("the options of a run")?;
    let figures = figures(&options, &options.experiment()?, &|| !stop.is_asked())?;
    Ok(serde_json::to_string_pretty(&figures)?)
}

/// The figures of one run, as JSON. Fails with [`Interrupted`] if `go_on` returned false.
fn figures(options: &Options, experiment: &Experiment, go_on: &dyn Fn() -> bool) -> anyhow::Result<Value> {
    let started = std::time::Instant::now();
    let result = experiment.run_while(&mut |_| go_on()).map_err(|e| options.blame(e))?;
    if !go_on() {
        return Err(Interrupted.into());
    }
    let seconds = started.elapsed().as_secs_f64();
    let (technology, bits) = (options.technology()?, options.flit_bits());
    let energy = technology.price(&experiment.network, &result, bits).map_err(input)?;
    let area = technology.area(&experiment.network, bits).map_err(input)?;
    let mut all = print::json(experiment, &result, &energy, &area, seconds);
    all["technology"] = serde_json::json!(technology);
    Ok(all)
}
