//! One run: its inputs, and its figures.

use super::apps;
use super::channel::{Channel, InDevice, in_memory, in_model};
use super::mesh::{self, Mesh, Requests};
use super::pairs::{self, Pairs};
use super::pure::{self, Pure};
use super::weights::Weights;
use crate::kit::{Ended, on_cores};
use baton_chip::{Chip, CoreCounts, Instructions, Options, Outcome, WindowSize};
use baton_machine::units::Cycles;
use baton_machine::{Counted, CountedBulk, Wait};
use baton_sync::queue::QUEUES;
use baton_workloads::models::MODELS;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;

/// The inputs of a run: everything on which its figures depend, except the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole: every key and value.
    pub(super) chip: String,
    /// The name of the processor window that replaces the chip's.
    pub(super) window: Option<&'static str>,
    pub(super) work: Work,
}

/// What a run's threads do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) enum Work {
    /// Threads that only enqueue, or only dequeue.
    Pure { queue: Queue, dequeues: bool, threads: u32, bulk: usize, items: u64, ahead: u64, seed: u64 },
    /// Producers and consumers.
    Pairs { queue: Queue, pairs: Pairs },
    /// Several devices on a mesh.
    Mesh(Mesh),
    /// Two producers with weights, with or without credits.
    Weights(Weights),
    /// An application.
    App(apps::Case),
}

/// The queue of a run, and how threads use it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) enum Queue {
    /// A queue of the registry by its name, and the wait policy of its threads.
    Memory(&'static str, &'static str),
    /// A model to compare with by its name, and the wait policy of its threads.
    Model(&'static str, &'static str),
    /// A queue in the device; the flag says whether threads wait for the answers of their enqueues.
    Device(bool),
}

/// What a run showed. Times are cycles of the core's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The cycles of the measured part, to the end of the slowest thread.
    pub cycles: u64,
    /// The number of items that passed in the measured part.
    pub items: u64,
    /// The time from a packet's arrival until a consumer has it: p50, p99, p99.9; only where
    /// producers and consumers move packets.
    pub waited: [u64; 3],
    /// The items that came from each of two producers.
    pub shares: [u64; 2],
    /// The requests of cores on a mesh.
    pub requests: Requests,
    /// Sums over all cores: requests to their caches, lines given to others, and copies lost to
    /// others.
    pub traffic: [u64; 3],
    /// The known instructions of all threads (`ThreadFigures::instructions`).
    pub instructions: u64,
    /// How often the device tried again to serve requests that it could not serve.
    pub retries: u64,
    /// The first line of the report if threads waited for each other for ever; `None` otherwise.
    pub locked: Option<String>,
}

impl Figures {
    /// Items a cycle.
    pub fn rate(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.items as f64 / self.cycles as f64 }
    }

    /// Cycles an item.
    pub fn cost(&self) -> f64 {
        if self.items == 0 { 0.0 } else { self.cycles as f64 / self.items as f64 }
    }
}

/// The number of cycles after which a run is cut off with an error, so that a fault does not make
/// it last for ever.
const BOUND: u64 = 400_000_000;

impl Queue {
    fn make(self, capacity: usize, threads: [u32; 2]) -> Result<Rc<dyn Channel>, String> {
        match self {
            Queue::Memory(name, wait) => {
                let wait: Wait = wait.parse().map_err(|error| format!("{error}"))?;
                in_memory(name, capacity, threads, wait)
            }
            Queue::Model(name, wait) => {
                in_model(name, capacity, threads, wait.parse().map_err(|error| format!("{error}"))?)
            }
            Queue::Device(waits) => Ok(Rc::new(InDevice::new(0, capacity, waits)?)),
        }
    }

    fn instructions(self, bulk: usize) -> Instructions {
        match self {
            Queue::Device(_) => Instructions::NONE,
            Queue::Memory(name, _) => instructions(name, bulk),
            Queue::Model(name, _) => {
                let known = MODELS.iter().find(|info| info.name == name);
                known.map_or(Instructions::TYPICAL, |info| counted(info.counted, info.counted_bulk, bulk))
            }
        }
    }
}

/// The instructions that a queue itself takes. A request to a device is one instruction, its
/// access.
pub(super) fn instructions(name: &str, bulk: usize) -> Instructions {
    let Some(info) = QUEUES.iter().find(|info| info.name == name) else { return Instructions::TYPICAL };
    if info.device { Instructions::NONE } else { counted(info.counted, info.counted_bulk, bulk) }
}

fn counted(one: Counted, several: Option<CountedBulk>, bulk: usize) -> Instructions {
    match several {
        Some(several) if bulk > 1 => Instructions::of_bulk(several),
        _ => Instructions::of(one),
    }
}

/// The value below or at which `of_1000` of a thousand values lie.
fn percentile(sorted: &[u64], of_1000: usize) -> u64 {
    let rank = (sorted.len() * of_1000).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    let counts = outcome.devices.iter().flat_map(|device| &device.counts);
    counts.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}

impl Run {
    /// Does the run.
    pub(super) fn figures(&self) -> Result<Figures, String> {
        let chip = Chip::from_toml(&self.chip, "the study's chip").map_err(|error| error.to_string())?;
        let chip = match self.window.map(|name| WindowSize::named(name).ok_or("no such window")) {
            Some(size) => chip.with_window(size?),
            None => chip,
        };
        match &self.work {
            Work::Pure { queue, dequeues, threads, bulk, items, ahead, seed } => {
                let cores = chip.core.count;
                let (dequeues, threads, bulk, items, ahead, seed) = (*dequeues, *threads, *bulk, *items, *ahead, *seed);
                let times = Rc::new(RefCell::new(pure::Times::default()));
                let work = Pure { dequeues, threads, bulk, items, ahead, seed, cores };
                let capacity = items.next_power_of_two() as usize;
                let sides = if dequeues { [1, threads] } else { [threads, 1] };
                let crew = || Ok(work.crew(queue.make(capacity, sides)?, times.clone()));
                let figures = run(&chip, seed, queue.instructions(bulk), crew)?;
                let cycles = times.borrow().ended - times.borrow().began;
                Ok(Figures { cycles, items: items / u64::from(threads) * u64::from(threads), ..figures })
            }
            Work::Pairs { queue, pairs } => self.pairs(&chip, *queue, *pairs),
            Work::Mesh(mesh) => {
                let notes = Rc::new(RefCell::new(mesh::Notes::default()));
                let figures = run(&chip, mesh.seed, Instructions::NONE, || mesh.crew(notes.clone()))?;
                let requests = notes.borrow().figures();
                let outstanding = chip.devices.as_ref().map_or(0, |devices| devices.outstanding);
                if requests.most >= u64::from(outstanding) {
                    let most = requests.most;
                    return Err(format!(
                        "a core had {most} requests under way; device.outstanding = {outstanding} binds"
                    ));
                }
                Ok(Figures { requests, ..figures })
            }
            Work::App(case) => case.figures(&chip),
            Work::Weights(weights) => {
                let got = Rc::new(RefCell::new([0; 2]));
                let figures = run(&chip, weights.seed, Instructions::NONE, || weights.crew(got.clone()))?;
                let shares = got.take();
                Ok(Figures { shares, cycles: weights.cycles, items: shares.iter().sum(), ..figures })
            }
        }
    }

    fn pairs(&self, chip: &Chip, queue: Queue, pairs: Pairs) -> Result<Figures, String> {
        let notes = Rc::new(RefCell::new(pairs::Notes::default()));
        let threads = [pairs.pairs; 2];
        let crew = || {
            let [pool, data] = [queue.make(pairs.pool, threads)?, queue.make(pairs.pool, threads)?];
            Ok(pairs.crew(pool, data, notes.clone()))
        };
        let figures = run(chip, pairs.seed, queue.instructions(pairs.bulk), crew)?;
        if figures.locked.is_some() {
            return Ok(figures);
        }
        let mut notes = notes.borrow_mut();
        notes.waited.sort_unstable();
        let waited = [500, 990, 999].map(|of_1000| percentile(&notes.waited, of_1000));
        Ok(Figures { cycles: notes.ended - notes.began, items: pairs.measured(), waited, ..figures })
    }
}

/// Runs a crew, and returns the figures that all kinds of runs have.
pub(super) fn run(
    chip: &Chip,
    seed: u64,
    instructions: Instructions,
    crew: impl FnOnce() -> Result<crate::kit::Crew, String>,
) -> Result<Figures, String> {
    let options = Options {
        seed,
        limit: Some(Cycles(BOUND)),
        threads: 2 * chip.core.count as usize,
        instructions,
        ..Options::default()
    };
    match on_cores(chip, &options, crew)? {
        Ended::Locked(report) => {
            let locked = Some(report.lines().next().unwrap_or("a deadlock").to_owned());
            Ok(Figures { locked, ..Figures::default() })
        }
        Ended::Whole(outcome) => {
            let [refused, dropped] = ["refused", "dropped"].map(|name| count(&outcome, name));
            if refused + dropped > 0 {
                return Err(format!("the device refused {refused} requests and dropped {dropped}"));
            }
            let sum = |of: fn(&CoreCounts) -> u64| outcome.cores.iter().map(of).sum::<u64>();
            let accesses = sum(|core| core.hits + core.l2_hits + core.misses + core.upgrades);
            let traffic = [accesses, sum(|core| core.forwards), sum(|core| core.invalidations)];
            let instructions = outcome.threads.iter().map(|thread| thread.instructions).sum();
            Ok(Figures { retries: count(&outcome, "retries"), traffic, instructions, ..Figures::default() })
        }
    }
}
