//! One run.

use super::figures::Figures;
use super::workload;
use super::{Args, energy};
use crate::error::BadInput;
use anyhow::Context;
use baton_chip::{Chip, Options, Simulation, Spawn};
use baton_machine::units::Cycles;
use baton_units::CpuId;
use std::time::Instant;

/// Guest heap beside the data of the workload.
const HEAP: usize = 64 << 20;

/// Runs the workload that `args` name on `chip`.
pub(super) fn run(args: &Args, chip: &Chip) -> anyhow::Result<Figures> {
    let chosen = workload::choose(args, chip)?;
    let threads = chosen.threads();
    let cpus = places(args, threads, chip)?;
    let options = Options {
        seed: args.seed,
        cpus: args.cpus,
        limit: args.cycles.map(Cycles),
        record: !args.no_trace && args.workload.has_locks(),
        threads: threads as usize,
        heap_bytes: HEAP + chosen.bytes().saturating_mul(2),
        instructions: chosen.instructions(),
        ..Options::default()
    };
    let mut simulation = Simulation::new(chip, &options).map_err(BadInput::new)?;
    let team = simulation.outside(|| chosen.team())?;
    for (thread, body) in team.bodies.into_iter().enumerate() {
        let cpus = cpus.get(thread).map(|&cpu| vec![CpuId(cpu)]).unwrap_or_default();
        simulation.spawn(Spawn { cpus, ..Spawn::default() }, body).map_err(BadInput::new)?;
    }
    let start = Instant::now();
    let outcome = simulation.run()?;
    let host_seconds = start.elapsed().as_secs_f64();
    let mut measured = Vec::new();
    if outcome.finished {
        let verified = simulation.outside(team.verify);
        verified.map_err(anyhow::Error::msg).context("the threads computed something wrong")?;
        measured = simulation.outside(team.figures);
    }
    let mut figures = Figures::new(args, &chosen, chip, &outcome, &measured, host_seconds);
    if args.energy {
        figures.energy = Some(energy::figures(args, chip, &outcome)?);
    }
    Ok(if options.record { figures.with_trace(&simulation.into_trace(), &chosen.recorder.0) } else { figures })
}

/// The CPU of each thread; none where the system places them.
fn places(args: &Args, threads: u32, chip: &Chip) -> anyhow::Result<Vec<u32>> {
    let has = args.cpus.unwrap_or(chip.cpus());
    if args.pin {
        if threads > has {
            let more = format!("{threads} threads cannot be pinned to a core each: {has} cores are in use");
            return Err(BadInput::new(more).hint("fewer --threads, more --cores, or no --pin").into());
        }
        return Ok((0..threads).collect());
    }
    if !args.at.is_empty() && args.at.len() != threads as usize {
        return Err(BadInput::new(format!("--at names {} cores for {threads} threads", args.at.len())).into());
    }
    Ok(args.at.clone())
}
