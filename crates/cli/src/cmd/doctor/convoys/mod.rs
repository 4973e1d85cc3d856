//! `baton doctor --convoys`: how long convoys last on this machine, and on a chip that represents
//! it.
//!
//! | file | holds |
//! | --- | --- |
//! | [`trial`] | one convoy, on the machine and on the chip |
//! | [`show`] | the table for people |

mod show;
mod trial;

use crate::chips::ChipArgs;
use crate::ui;
use anyhow::Context;
use baton_chip::Chip;
use baton_host::costs::{Budget, core};
use baton_host::neighbours::Neighbours;
use baton_machine::Wait;
use baton_machine::discover::{Topology, allowed_cpus};
use baton_sync::lock::{LockInfo, info};
use baton_trace::disturbance::MOST_OTHERS;
use baton_workloads::convoy::Lasted;
use rayon::prelude::*;
use serde::Serialize;
use std::time::Instant;

/// One lock that is handed over to the next waiter, and one that running threads take from sleeping
/// waiters.
const LOCKS: [&str; 2] = ["mcs", "futex"];
const THREADS: [u32; 2] = [2, 4];
/// Numbers of threads on each CPU.
const CROWDS: [u32; 2] = [1, 2];
/// Mean nanoseconds that a thread computes between two acquisitions.
const THINKS: [u64; 4] = [200, 1_000, 5_000, 20_000];
/// Nanoseconds of a hold, and of the hold that stalls: the stall is long enough for all other
/// threads to go to sleep.
const CRITICAL: u64 = 300;
const STALL: u64 = 200_000;
/// Least number of acquisitions of each thread before the stall, and number of acquisitions after
/// it.
const BEFORE: u32 = 100;
const AFTER: u32 = 600;
/// Number of convoys in a row of the table; on the chip, each convoy has a seed of its own.
const TRIALS: u64 = 11;
/// Convoys with fewer hand-offs count as if they had this number: they end at once.
const SHORT: u64 = 4;
/// The machine and the chip agree if they are within this factor.
const FACTOR: f64 = 2.0;

/// The figures that were measured and simulated.
#[derive(Clone, Debug, Serialize)]
struct Found {
    /// The name of the chip file.
    chip: String,
    critical_ns: u64,
    stall_ns: u64,
    /// Number of convoys of each row, on the machine and on the chip.
    trials: u64,
    /// The rows: hand-offs behind the stall.
    rows: Vec<Row>,
    /// Numbers of holds that were long by themselves.
    long_holds: Beside<LongHolds>,
    /// The share of the CPUs' time that other programs used while the machine ran its convoys, and
    /// whether that is too much; `None` if the kernel does not tell.
    others_share: Option<f64>,
    disturbed: Option<bool>,
    /// The rows that need more CPUs than there are.
    left_out: Vec<String>,
}

/// A figure of the machine and of the chip.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Beside<T> {
    measured: T,
    simulated: T,
}

/// A row: one lock, with a number of threads on the CPUs.
#[derive(Clone, Debug, Serialize)]
struct Row {
    lock: &'static str,
    wait: String,
    threads: u32,
    cpus: u32,
    think_ns: u64,
    /// Slow hand-offs, those to sleeping waiters, from the stall to the end of the convoy.
    handoffs: Beside<Handoffs>,
    /// The median of the machine's numbers divided by that of the chip's; each counts as at least
    /// [`SHORT`].
    factor: f64,
    agrees: bool,
}

/// The numbers of hand-offs that the convoys of a row took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Handoffs {
    median: u64,
    low: u64,
    high: u64,
    /// Number of convoys that had not ended when the threads ended.
    to_the_end: u64,
}

/// Numbers of holds that were long by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct LongHolds {
    long: u64,
    holds: u64,
    longest_ns: u64,
}

/// The settings of a row.
#[derive(Clone, Copy)]
struct Asked {
    lock: &'static LockInfo,
    wait: Wait,
    threads: u32,
    cpus: u32,
    think_ns: u64,
    /// Acquisitions of each thread from the stall on.
    after: u32,
}

/// Runs convoys, on the machine and on the chip, and prints how long they lasted.
pub(super) fn run(chip: &ChipArgs, json: bool) -> anyhow::Result<()> {
    let found = find(&chip.open()?, chip.name())?;
    if found.disturbed == Some(true) {
        ui::warn(format_args!(
            "other programs used {:.0}% of the CPUs meanwhile (at most {:.0}% is trusted): what is measured is not all the machine's own",
            found.others_share.unwrap_or_default() * 100.0,
            MOST_OTHERS * 100.0
        ));
    }
    match json {
        true => println!("{}", serde_json::to_string_pretty(&found)?),
        false => print!("{}", show::text(&found)),
    }
    Ok(())
}

fn find(chip: &Chip, name: String) -> anyhow::Result<Found> {
    let cpus = cpus(&Topology::discover(), &allowed_cpus());
    let (asked, left_out) = asked(cpus.len() as u32, chip.core.count)?;
    let turn_ns = core::work(Budget::LOOK).median;
    let (neighbours, start) = (Neighbours::watch(), Instant::now());
    let measured = asked.iter().map(|&row| {
        let cpus = &cpus[..row.cpus as usize];
        (0..TRIALS).map(|_| trial::native(row, cpus, turn_ns)).collect()
    });
    let measured: Vec<Vec<Lasted>> = measured.collect::<anyhow::Result<_>>()?;
    // The time of all CPUs on which this process may run, because [`Neighbours`] looks at all of
    // them.
    let all = start.elapsed().as_secs_f64() * allowed_cpus().len() as f64;
    let others_share = neighbours.seen().map(|seen| seen.others.as_secs_f64() / all);
    let simulate = |&row: &Asked| (1..=TRIALS).map(|seed| trial::simulated(row, chip, seed)).collect();
    let simulated: Vec<Vec<Lasted>> = asked.par_iter().map(simulate).collect::<anyhow::Result<_>>()?;
    let both = || measured.iter().zip(&simulated);
    Ok(Found {
        chip: name,
        critical_ns: CRITICAL,
        stall_ns: STALL,
        trials: TRIALS,
        rows: asked.iter().zip(both()).map(|(row, (m, s))| Row::of(row, handoffs(m), handoffs(s))).collect(),
        long_holds: Beside { measured: long_holds(&measured), simulated: long_holds(&simulated) },
        others_share,
        disturbed: others_share.map(|share| share > MOST_OTHERS),
        left_out,
    })
}

/// The CPUs to use, those on cores of their own first.
fn cpus(topology: &Topology, allowed: &[u32]) -> Vec<u32> {
    let sibling = |cpu: u32| {
        let of = topology.cpus.iter().find(|known| known.id == cpu);
        of.is_some_and(|known| known.siblings.iter().any(|&other| other < cpu && allowed.contains(&other)))
    };
    let (second, mut first): (Vec<u32>, Vec<u32>) = allowed.iter().partition(|&&cpu| sibling(cpu));
    first.extend(second);
    first
}

/// The rows, and the descriptions of those that need more CPUs than the machine or the chip has.
fn asked(cpus: u32, cores: u32) -> anyhow::Result<(Vec<Asked>, Vec<String>)> {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for (threads, a_cpu) in THREADS.into_iter().flat_map(|threads| CROWDS.map(|a_cpu| (threads, a_cpu))) {
        let wanted = threads / a_cpu;
        for (has, what) in [(cpus, "this machine"), (cores, "the chip")] {
            if has < wanted {
                left_out.push(format!("{threads} threads on {wanted} CPUs: {what} has {has}"));
            }
        }
        if wanted > cpus.min(cores) {
            continue;
        }
        for name in LOCKS {
            let lock = info(name).context("a lock of the registry")?;
            let wait = lock.wait_of_a_mutex(None).map_err(anyhow::Error::msg)?;
            rows.extend(THINKS.map(|think_ns| Asked { lock, wait, threads, cpus: wanted, think_ns, after: AFTER }));
        }
    }
    Ok((rows, left_out))
}

impl Row {
    fn of(asked: &Asked, measured: Handoffs, simulated: Handoffs) -> Row {
        let count = |handoffs: Handoffs| handoffs.median.max(SHORT) as f64;
        let factor = count(measured) / count(simulated);
        Row {
            lock: asked.lock.name,
            wait: asked.wait.to_string(),
            threads: asked.threads,
            cpus: asked.cpus,
            think_ns: asked.think_ns,
            handoffs: Beside { measured, simulated },
            factor,
            agrees: (1.0 / FACTOR..=FACTOR).contains(&factor),
        }
    }
}

fn handoffs(trials: &[Lasted]) -> Handoffs {
    let mut counts: Vec<u64> = trials.iter().map(|trial| trial.handoffs).collect();
    counts.sort_unstable();
    let (Some(&low), Some(&high)) = (counts.first(), counts.last()) else { return Handoffs::default() };
    let to_the_end = trials.iter().filter(|trial| trial.to_the_end).count() as u64;
    Handoffs { median: counts[counts.len() / 2], low, high, to_the_end }
}

fn long_holds(rows: &[Vec<Lasted>]) -> LongHolds {
    rows.iter().flatten().fold(LongHolds::default(), |all, trial| LongHolds {
        long: all.long + trial.long_holds,
        holds: all.holds + trial.holds,
        longest_ns: all.longest_ns.max(trial.longest.0),
    })
}

#[cfg(test)]
mod tests;
