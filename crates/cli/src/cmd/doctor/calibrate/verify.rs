//! Simulates the written chip: the micro-workloads of `baton sim`, beside the figures that were
//! measured on the machine.

use super::super::findings::{Apart, Findings};
use crate::ui;
use anyhow::Context;
use baton_chip::{Chip, Options, Prices, Simulated, Simulation, Spawn};
use baton_host::costs::Spread;
use baton_machine::Wait;
use baton_units::{CoreId, Hertz};
use baton_workloads::Team;
use baton_workloads::chase::Chase;
use baton_workloads::pingpong::PingPong;

/// Number of loads that are timed, and of passes to and fro.
const LOADS: u64 = 4_000;
const PASSES: u64 = 500;
/// Bytes of the last level on which memory is timed: smaller than the real last level, so that a
/// short chase misses it. The way of a miss to memory is the same.
const SMALL_LEVEL: u64 = 256 << 10;

/// The table with measured figures, those of the formulas, and simulated ones.
pub(crate) fn verify(found: &Findings, chip: &Chip) -> anyhow::Result<String> {
    // Switches the noise of the chip off, because noise that differs between seeds is no part of a
    // latency.
    let mut chip = chip.clone();
    (chip.noise.latency, chip.noise.start) = (0.0, baton_units::Cycles(0));
    let hz = chip.core.clock;
    let prices = Prices::of(&chip)?;
    let ns = |cycles: f64| cycles * 1e9 / hz.0 as f64;
    let mut rows = Vec::new();
    let mut row = |what: &str, measured: Option<f64>, formula: Option<f64>, simulated: f64| {
        let cell = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{ns:.1}"));
        let off = measured.map_or("-".into(), |m| format!("{:+.0}%", (simulated / m - 1.0) * 100.0));
        rows.push(vec![what.to_owned(), cell(measured), cell(formula), format!("{simulated:.1}"), off]);
    };
    let coherent = chip.coherent.as_ref().context("a coherent chip")?;
    let figure = |id| found.figure(id).map(|f| f.spread.median);
    let line = chip.cache.line_bytes as usize;
    let (l1, l2) = (coherent.l1.size_bytes, coherent.l2.map(|l2| l2.size_bytes));
    row(
        "first-level cache (chase)",
        figure("hit"),
        Some(ns(prices.hit.0 as f64)),
        chase(&chip, l1 as usize / 4, line)?,
    );
    if let Some(l2) = l2 {
        let formula = prices.l2.map(|l2| ns(l2.0 as f64));
        row("second-level cache (chase)", figure("l2"), formula, chase(&chip, l2 as usize / 2, line)?);
    }
    let private = l2.unwrap_or(l1);
    if let Some(bank) = prices.bank {
        let formula = Some(ns(bank.0 as f64));
        row("last-level cache (chase)", figure("last-level"), formula, chase(&chip, 3 * private as usize, line)?);
    }
    let mut small = chip.clone();
    if let Some(shared) = small.coherent.as_mut().and_then(|c| c.shared.as_mut()) {
        let set = u64::from(shared.bank.ways) * u64::from(chip.cache.line_bytes);
        shared.bank.size_bytes = SMALL_LEVEL.next_multiple_of(set).min(shared.bank.size_bytes);
        shared.bank.size_bytes = set * (shared.bank.size_bytes / set).max(1).next_power_of_two();
    }
    row(
        "memory (chase)",
        figure("memory"),
        Some(ns(prices.memory.0 as f64)),
        chase(&small, 6 * private as usize, line)?,
    );
    if chip.core.count > 1 {
        let of = |pick: fn(&super::super::findings::Pair) -> Option<Spread>| {
            let near = found.line_round_trips.iter().filter(|p| p.apart == Apart::SameCluster);
            Spread::of(near.filter_map(|p| Some(pick(p)?.median)).collect()).map(|s| s.median)
        };
        let transfer = ns(prices.transfer.same_cluster.0 as f64);
        let taken = remote(&chip)?;
        row("line in another core's cache (dependent loads)", of(|p| p.remote), Some(transfer), taken);
        let pass = of(|p| p.round_trip).map(|ns| ns / 2.0);
        row("a line handed over (pingpong, a pass)", pass, None, pingpong(&chip)?);
    }
    let header = ["ns, of the written chip", "measured", "by the formula", "simulated", "simulated, off by"];
    Ok(ui::table(&header, &rows))
}

/// Runs a team with its threads on cores 0, 1, …. Returns the cycles of the run, and the figures
/// that the team measured.
fn run(chip: &Chip, heap: usize, team: impl FnOnce() -> Team) -> anyhow::Result<(u64, Vec<f64>)> {
    let options = Options { heap_bytes: (16 << 20) + 2 * heap, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options)?;
    let team = simulation.outside(team);
    for (core, body) in (0..).zip(team.bodies) {
        simulation.spawn(Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }, body)?;
    }
    let outcome = simulation.run()?;
    simulation.outside(team.verify).map_err(anyhow::Error::msg)?;
    let figures = simulation.outside(team.figures);
    Ok((outcome.cycles.0, figures.iter().map(|figure| figure.value).collect()))
}

/// Nanoseconds of a load in a chain over `bytes` bytes.
fn chase(chip: &Chip, bytes: usize, stride: usize) -> anyhow::Result<f64> {
    let chase = Chase { bytes, stride, iterations: LOADS };
    let (_, figures) = run(chip, bytes, || chase.team::<Simulated>())?;
    figures.first().copied().context("the chase tells its latency")
}

/// Nanoseconds that a line takes to the other thread: a run with twice the passes minus a run with
/// once the passes, so that the cost of the start cancels.
fn pingpong(chip: &Chip) -> anyhow::Result<f64> {
    let of = |iterations| {
        Ok::<u64, anyhow::Error>(run(chip, 0, || PingPong { iterations }.team::<Simulated>(Wait::Spin))?.0)
    };
    let cycles = of(2 * PASSES)?.saturating_sub(of(PASSES)?);
    Ok(nanos(chip.core.clock, cycles as f64 / (2 * PASSES) as f64))
}

/// Nanoseconds of a load of lines that the other core has written, in a range that fits into its
/// private caches.
fn remote(chip: &Chip) -> anyhow::Result<f64> {
    use baton_machine::{Atomic, Machine, Ordering, Owned, units::Cycles};
    use std::cell::Cell;
    use std::rc::Rc;
    const LINES: usize = 256;
    #[repr(align(128))]
    struct Apart(<Simulated as Machine>::Atomic<u64>);
    let mut simulation = Simulation::new(chip, &Options::default())?;
    let lines = simulation.outside(|| {
        let lines: Vec<Apart> = (0..LINES).map(|_| Apart(Atomic::new(0))).collect();
        let lines: Box<[Apart; LINES]> = lines.try_into().unwrap_or_else(|_| unreachable!("as many as asked for"));
        Rc::new(Owned::<Simulated, [Apart; LINES]>::new(*lines))
    });
    let took = Rc::new(Cell::new(0));
    let (written, read, timed) = (lines.clone(), lines, took.clone());
    let spawn = |core, after| Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() };
    simulation.spawn(spawn(1, 0), move || written.iter().for_each(|line| line.0.store(1, Ordering::Release)))?;
    // The loads begin long after the last store has left its buffer.
    simulation.spawn(spawn(0, 10_000_000), move || {
        let start = baton_chip::act::time();
        for line in read.iter() {
            let _ = line.0.load(Ordering::Acquire);
        }
        timed.set((baton_chip::act::time() - start).0);
    })?;
    simulation.run()?;
    Ok(nanos(chip.core.clock, took.get() as f64 / LINES as f64))
}

fn nanos(clock: Hertz, cycles: f64) -> f64 {
    cycles * 1e9 / clock.0 as f64
}
