//! One run of `baton sim`: its memory, its simulation, and its figures.

use super::args::Args;
use super::figures::SimFigures;
use super::system::Known;
use super::{apps, energy, places, workload};
use crate::error::{BadInput, Interrupted};
use anyhow::Context;
use baton_chip::{Chip, Options, Simulation, Stop};
use baton_machine::units::Cycles;
use baton_workloads::Team;
use std::time::Instant;

/// Bytes of guest heap beside the data of the workload.
const HEAP: usize = 64 << 20;
/// Bytes that a run takes on any chip, and for each CPU.
const FIXED: u64 = 16 << 20;
const A_CPU: u64 = 256 << 10;

/// Estimates the bytes of memory that a run takes: the data of its workloads, and what the chip's cores
/// and caches take. Recorded events come on top.
pub(super) fn memory(args: &Args, chosen: &workload::Chosen, chip: &Chip) -> u64 {
    let data = chosen.bytes().saturating_mul(2 * (1 + args.app.len()));
    (FIXED + u64::from(chip.cpus()) * A_CPU).saturating_add(data as u64)
}

/// Runs the workload that `args` name on `chip`.
pub(super) fn run(args: &Args, chip: &Chip) -> anyhow::Result<SimFigures> {
    run_until(args, chip, &Stop::default())
}

/// Like [`run`]; fails with [`Interrupted`] if `stop` ended the run.
pub(super) fn run_until(args: &Args, chip: &Chip, stop: &Stop) -> anyhow::Result<SimFigures> {
    let chosen = workload::choose(args, chip)?;
    let threads = chosen.threads();
    let cpus = places::cpus(args, threads, chip)?;
    let nice = places::nice(args, threads)?;
    let others = apps::choose(args, chip)?;
    let pinned = places::pinned(&cpus, &others);
    let mut known = vec![Known::new(args.workload.text(), args.workload.text(), &chosen)];
    known.extend(others.iter().map(Known::of));
    let of_others = |what: fn(&apps::App) -> usize| others.iter().map(what).sum::<usize>();
    let options = Options {
        seed: args.seed,
        cpus: args.cpus,
        limit: args.cycles.map(Cycles),
        stop: Some(stop.clone()),
        record: !args.no_trace && args.workload.has_locks(),
        threads: threads as usize + of_others(|app| app.chosen.threads() as usize),
        heap_bytes: HEAP + (chosen.bytes() + of_others(|app| app.chosen.bytes())).saturating_mul(2),
        instructions: chosen.instructions(),
        ..Options::default()
    };
    let mut simulation = Simulation::new(chip, &options).map_err(|refused| match args.cpus {
        Some(cpus) if cpus > chip.cpus() => BadInput::new(refused)
            .hint(format!("--cores {cpus} makes the chip larger; --cpus only says how much is used")),
        _ => BadInput::new(refused),
    })?;
    let Team { bodies, verify, figures: own } = simulation.outside(|| chosen.team())?;
    for (thread, body) in bodies.into_iter().enumerate() {
        let spawn = apps::placed(String::new(), thread, &cpus, &nice);
        simulation.spawn(spawn, body).map_err(BadInput::new)?;
    }
    places::switch(&mut simulation, args, chip, &pinned)?;
    let errors = others.into_iter().map(|app| apps::start(&mut simulation, app)).collect::<anyhow::Result<Vec<_>>>()?;
    let start = Instant::now();
    let outcome = simulation.run()?;
    let host_seconds = start.elapsed().as_secs_f64();
    if stop.is_asked() {
        return Err(Interrupted.into());
    }
    if let Some((at, refused)) = outcome.refused.first() {
        return Err(BadInput::new(format!("at {at}: {refused}")).into());
    }
    if let Some(error) = errors.iter().find_map(|error| error.borrow().clone()) {
        return Err(anyhow::Error::msg(error).context("the threads of an --app computed something wrong"));
    }
    let mut measured = Vec::new();
    if outcome.finished {
        let verified = simulation.outside(verify);
        verified.map_err(anyhow::Error::msg).context("the threads computed something wrong")?;
        measured = simulation.outside(own);
    } else {
        simulation.outside(|| drop((verify, own)));
    }
    let mut figures =
        SimFigures::new(args, &chosen, chip, &outcome, &measured, host_seconds).with_system(&known, &outcome);
    if args.energy {
        figures.energy = Some(energy::figures(args, chip, &outcome)?);
    }
    if options.record {
        figures = figures.with_trace(&simulation.take_trace(), &chosen.recorder.events);
    }
    // SAFETY: only the workloads' teams own guest memory: their bodies are the guests, and the check and
    // the figures of each are used up or dropped above. What is returned was read from them as numbers.
    unsafe { simulation.discard() };
    Ok(figures)
}
