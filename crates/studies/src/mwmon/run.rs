//! One run: its inputs, and its figures.

use super::helper::{self, Assisted, Name};
use super::product::{Large, Unit};
use super::waits::{Barrier, By, Notice};
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::Ordering::SeqCst;
use baton_machine::units::Cycles;
use baton_machine::{Clock, Machine};
use baton_units::CpuId;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::rc::Rc;

/// The inputs of a run: everything on which its figures depend, except the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole: every key and value.
    pub(super) chip: String,
    pub(super) case: Case,
}

/// Identifies a run among the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Case {
    /// The table that sets the prices: 1 or 2.
    pub(super) reading: u32,
    /// The name of a further change of the chip; empty for no change.
    pub(super) other: &'static str,
    pub(super) work: Work,
    pub(super) repetition: u64,
}

/// What a run's threads do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) enum Work {
    /// Tables 1 and 2: one thread waits while the other computes. `entries` is the number of
    /// entries of the reorder buffer that a load takes.
    Table { by: By, barrier: bool, entries: u32 },
    /// Figure 4: `light` is the number of units of the light thread, `work` the cycles of other
    /// instructions in an inner product.
    Pseudo { by: By, light: u32, work: u64 },
    /// Figure 5: a kernel, alone or with a helper.
    Assisted(Assisted),
}

/// The entries of the reorder buffer that a load takes in the product of tables 1 and 2: gcc 4.1
/// makes 8 to 11 instructions of a turn of the loop, which has two loads.
const ENTRIES: u32 = 5;

impl Work {
    /// A row of table 1 or, with a barrier, of table 2.
    pub(super) fn row(by: By, barrier: bool) -> Work {
        Work::Table { by, barrier, entries: ENTRIES }
    }

    /// A kernel of figure 5 alone.
    pub(super) fn serial(kernel: Name) -> Work {
        Work::Assisted(Assisted { kernel, by: None, prefetches: false })
    }

    /// A kernel of figure 5 with a helper that prefetches.
    pub(super) fn helped(kernel: Name, by: By) -> Work {
        Work::Assisted(Assisted { kernel, by: Some(by), prefetches: true })
    }

    /// A kernel of figure 5 with a helper that only waits.
    pub(super) fn idle(kernel: Name, by: By) -> Work {
        Work::Assisted(Assisted { kernel, by: Some(by), prefetches: false })
    }
}

/// What a run showed, in cycles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The cycles of the worker's computation. In figure 4 this is one iteration, in figure 5 the
    /// whole kernel, both with the barriers.
    pub work: u64,
    /// The cycles from the notice, or from the worker's arrival, to the waiter's return.
    pub wake_up: u64,
    /// The cycles of the notifier's call, or of the worker's call of its barrier.
    pub call: u64,
    /// Figure 5: the cycles that the worker and the helper spend in barriers.
    pub waits: [u64; 2],
    /// Figure 5: the cycles for which the worker's loads that missed the L1 waited for memory.
    pub memory: u64,
    /// Figure 5: the worker's loads and stores whose line came from memory.
    pub misses: u64,
}

/// Cycles after which a run is cut off, which is an error.
const BOUND: u64 = 8_000_000_000;
/// The iterations of figure 4 that count, and those before them that do not.
const ITERATIONS: [u32; 2] = [24, 4];
/// The number of units of the heavy thread.
pub(super) const HEAVY: u32 = 10;

pub(super) type Body = Box<dyn FnOnce()>;

/// Runs a worker on the first context of a core and another thread on the second.
pub(super) fn on_contexts(
    chip: &Chip,
    seed: u64,
    make: impl FnOnce() -> (Body, Option<Body>),
) -> Result<(Simulation, Outcome), String> {
    let options = Options { seed, limit: Some(Cycles(BOUND)), threads: 2, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
    let (worker, other) = simulation.outside(make);
    // The waiter is spawned first, as in the paper.
    for (cpu, body) in other.into_iter().map(|body| (1, body)).chain([(0, worker)]) {
        let spawn = Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() };
        simulation.spawn(spawn, body).map_err(|error| error.to_string())?;
    }
    let outcome = simulation.run().map_err(|stuck| stuck.to_string())?;
    if outcome.finished { Ok((simulation, outcome)) } else { Err("the run came to its bound".to_owned()) }
}

impl Run {
    pub(super) fn figures(&self) -> Result<Figures, String> {
        let chip = Chip::from_toml(&self.chip, "the study's chip").map_err(|error| error.to_string())?;
        let Case { work, repetition, .. } = &self.case;
        match *work {
            Work::Table { by, barrier, entries } => table(&chip, *repetition, by, barrier, entries),
            Work::Pseudo { by, light, work } => pseudo(&chip, *repetition, by, light, work),
            Work::Assisted(assisted) => helper::figures(&chip, *repetition, assisted),
        }
    }
}

fn table(chip: &Chip, repetition: u64, by: By, barrier: bool, entries: u32) -> Result<Figures, String> {
    let [began, notified, woken, called] = [(); 4].map(|()| Rc::new(Cell::new(0)));
    let moments = [began, notified, woken, called];
    let sums = Rc::new(Cell::new([0.0, -1.0]));
    let (of_worker, of_waiter, result) = (moments.clone(), moments[2].clone(), sums.clone());
    let make = move || {
        let shared = Rc::new((Notice::new(by), Barrier::new(by)));
        let large = Large::new(repetition);
        let theirs = shared.clone();
        let worker = move || {
            act::delay(Cycles(1_000_000));
            of_worker[0].set(act::time().0);
            let sum = large.compute(entries);
            of_worker[1].set(act::time().0);
            if barrier {
                shared.1.enter(0)
            } else {
                shared.0.notify()
            }
            Simulated::fence(SeqCst);
            Simulated::now(Clock::Monotonic);
            of_worker[3].set(act::time().0);
            result.set([sum, large.expected()]);
            // The worker goes on: if it ended, the core would spare the other thread a change of
            // mode.
            Simulated::work(Cycles(2_000_000));
            act::outside(|| drop((large, shared)));
        };
        let waiter = move || {
            if barrier {
                theirs.1.enter(1)
            } else {
                theirs.0.wait()
            }
            of_waiter.set(act::time().0);
            Simulated::work(Cycles(1_000_000));
            act::outside(|| drop(theirs));
        };
        (Box::new(worker) as Body, Some(Box::new(waiter) as Body))
    };
    on_contexts(chip, 1 + repetition, make)?;
    let [computed, expected] = sums.get();
    if computed != expected {
        return Err(format!("the product is {computed}, expected {expected}"));
    }
    let [began, notified, woken, called] = moments.map(|moment| moment.get());
    Ok(Figures { work: notified - began, wake_up: woken - notified, call: called - notified, ..Figures::default() })
}

fn pseudo(chip: &Chip, repetition: u64, by: By, light: u32, work: u64) -> Result<Figures, String> {
    let span = Rc::new(Cell::new([0; 2]));
    let right = Rc::new(Cell::new(0));
    let [iterations, before] = ITERATIONS;
    let (of_heavy, all_right) = (span.clone(), right.clone());
    let make = move || {
        let barrier = Rc::new(Barrier::new(by));
        let body = |thread: u32, units: u32| {
            let (barrier, unit, span, right) = (barrier.clone(), Unit::new(), of_heavy.clone(), all_right.clone());
            Box::new(move || {
                for iteration in 0..before + iterations {
                    if thread == 0 && iteration == before {
                        span.set([act::time().0, 0]);
                    }
                    (0..units).for_each(|_| unit.compute(work));
                    barrier.enter(thread);
                }
                if thread == 0 {
                    span.set([span.get()[0], act::time().0]);
                }
                act::outside(|| {
                    right.set(right.get() + u32::from(units == 0 || unit.is_right()));
                    drop((unit, barrier));
                });
            }) as Body
        };
        (body(0, HEAVY), Some(body(1, light)))
    };
    on_contexts(chip, 1 + repetition, make)?;
    if right.get() != 2 {
        return Err("a product of matrices is wrong".to_owned());
    }
    let [began, ended] = span.get();
    Ok(Figures { work: (ended - began) / u64::from(iterations), ..Figures::default() })
}
