//! `baton sim`: a micro-workload on a simulated chip.
//!
//! | file | holds |
//! | --- | --- |
//! | [`workload`] | from the command line to guest threads |
//! | [`probe`] | what guests record about their lock |
//! | [`figures`] | from what came out to JSON and a table |

mod figures;
mod probe;
mod workload;

use crate::chips::ChipArgs;
use crate::error::BadInput;
use anyhow::Context;
use baton_chip::{Options, Simulation};
use baton_machine::Wait;
use baton_machine::units::Cycles;
use std::process::ExitCode;
use std::time::Instant;

/// What to simulate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton sim --workload lock --lock mcs --threads 64 --set core.count=64 --set core.per_cluster=64
  baton sim --chip chips/sample-host.toml --workload lock --lock ticket --wait spin-park --threads 8 --cs 200 --json
  baton sim --workload barrier --barrier dissemination --threads 2 --think 5000
  baton sim --workload ring --queue mpmc --threads 4")]
pub(crate) struct Args {
    #[command(flatten)]
    chip: ChipArgs,
    /// What the threads do.
    #[arg(long, value_enum, default_value = "lock")]
    workload: workload::Name,
    /// The lock (`baton list locks`).
    #[arg(long, default_value = "mcs")]
    lock: String,
    /// The barrier.
    #[arg(long, default_value = "central")]
    barrier: String,
    /// The queue.
    #[arg(long, default_value = "mpmc")]
    queue: String,
    /// How threads wait (`baton list waits`). Left out: the lock's own policy, else pause.
    #[arg(long)]
    wait: Option<Wait>,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// Cycles computed with the lock held.
    #[arg(long, value_name = "CYCLES", default_value_t = 100)]
    cs: u64,
    /// Cycles computed between two acquisitions, meetings or items.
    #[arg(long, value_name = "CYCLES", default_value_t = 1000)]
    think: u64,
    /// Computations lie within this share of --think.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    spread: f64,
    /// Shared lines that each holder of the lock writes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=4096))]
    lines: u32,
    /// Places in the queue.
    #[arg(long, value_name = "N", default_value_t = 64)]
    capacity: usize,
    /// Rounds a thread. Left out: 1000, or as many as --cycles allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// End the run at this cycle.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cycles: Option<u64>,
    /// Cores in use, the first so many. Left out: all.
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// Seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Leave out blocking, critical-section and overhead figures (for long runs: they are made from recorded events).
    #[arg(long)]
    no_trace: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is no share; expected a number from 0 to 1"))
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let chip = args.chip.open()?;
    let options = Options {
        seed: args.seed,
        cpus: args.cpus,
        limit: args.cycles.map(Cycles),
        record: !args.no_trace && args.workload == workload::Name::Lock,
        threads: args.threads as usize,
        ..Options::default()
    };
    let mut simulation = Simulation::new(&chip, &options).map_err(BadInput::new)?;
    let chosen = workload::choose(&args, &chip)?;
    let team = simulation.outside(|| chosen.team())?;
    for body in team.bodies {
        simulation.spawn(Default::default(), body).map_err(BadInput::new)?;
    }
    let start = Instant::now();
    let outcome = simulation.run()?;
    let host_seconds = start.elapsed().as_secs_f64();
    if outcome.finished {
        let verified = simulation.outside(team.verify);
        verified.map_err(anyhow::Error::msg).context("the threads computed something wrong")?;
    }
    let recorded = options.record;
    let figures = figures::Figures::new(&args, &chosen, &chip, &outcome, host_seconds);
    let figures = if recorded { figures.with_trace(&simulation.into_trace()) } else { figures };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        print!("{}", figures.text());
    }
    Ok(ExitCode::SUCCESS)
}
