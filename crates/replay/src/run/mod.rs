//! A program run on a chip under one lock: guest threads that follow their scripts.
//!
//! | file | holds |
//! | --- | --- |
//! | [`world`] | the objects that the guests share |
//! | [`meetings`] | barriers: the recorded ones, or others in their place |
//! | [`mixed`] | locks of another type than the run's own |
//! | [`objects`] | objects besides the replaced locks: reader-writer and spin locks, tokens |
//! | [`passages`] | queues in the place of recorded ones |
//! | [`notices`] | what the scheduling policy is told of locks and barriers |
//! | [`look`] | where in its loop a background thread looks whether it is to end |
//! | [`stalls`] | stalls of holds: drawn ones, and interrupts of the simulated machine |
//! | [`account`] | blocked time, critical sections and competition overhead, while they happen |

mod account;
mod look;
mod meetings;
mod mixed;
mod notices;
mod objects;
mod passages;
mod stalls;
mod world;

pub use crate::ran::{Choice, Ran, RunError, Setup, Totals};

use crate::change::Changes;
use crate::lives::together;
use crate::program::Program;
use crate::ran::Placed;
use baton_chip::config::mechanism::Annotator;
use baton_chip::{Chip, Instructions, Options, Outcome, Reason, Simulated, Simulation};
use baton_sync::lock::{TryLock, TryVisitor, ZeroInit};
use baton_sync::queue::Counted;
use baton_trace::Trace;
use baton_units::Cycles;
use std::sync::Arc;

/// Runs the program once on the chip. Locks stay as `setup` chooses them.
pub fn run(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<Ran, RunError> {
    run_changed(program, chip, setup, &Changes::default())
}

/// Like [`run`](fn@run), with changes to some of the locks, or other barriers.
pub fn run_changed(program: &Arc<Program>, chip: &Chip, setup: &Setup, changes: &Changes) -> Result<Ran, RunError> {
    for changed in changes.locks.values() {
        changed.lock.iter().try_for_each(|choice| baton_sync::lock::visit_try(&choice.lock, mixed::Exists))?;
    }
    if let Some(meeting) = &changes.barrier {
        baton_sync::barrier::visit::<Simulated, _>(&meeting.barrier, meetings::Exists)?;
    }
    let run = ReplayRun { program, chip, setup, changes, record: false };
    baton_sync::lock::visit_try(&setup.choice.lock, run)?.map(|(ran, _)| ran)
}

/// Like [`run`](fn@run). Also returns a trace of the run with the events of its locks.
pub fn run_recorded(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<(Ran, Trace), RunError> {
    baton_sync::lock::visit_try(
        &setup.choice.lock,
        ReplayRun { program, chip, setup, changes: &Changes::default(), record: true },
    )?
}

/// Returns the number of marked packets. Every coherent chip counts the packets of lock requests,
/// but only a chip with a mechanism such as OCOR marks them.
fn marked(chip: &Chip, outcome: &Outcome) -> u64 {
    let marks = chip.coherent.as_ref().is_some_and(|coherent| coherent.mechanisms.active().is_enabled());
    if marks { outcome.network.lock_packets } else { 0 }
}

/// Returns how all threads together used fast and slow cores; zeros if the policy does not
/// distinguish them.
fn placed(outcome: &Outcome) -> Placed {
    let mut all = Placed::default();
    for had in outcome.apps.iter().filter_map(|app| app.amp) {
        all.fast_cycles += had.fast;
        all.slow_cycles += had.slow;
        all.migrations += had.migrations;
        all.swaps += had.swaps;
        all.demotions += had.demotions;
    }
    all
}

/// A run may simulate at most this many events for each step of the program, and `LEAST_EVENTS` in
/// all for time slices, which pass even if the program does little. Two hours on two busy CPUs have
/// five million slices, and a program that takes a lock every second is never cut off.
const EVENTS_PER_STEP: u64 = 1_000;
const LEAST_EVENTS: u64 = 5_000_000;

/// Returns the instructions of the queue that serves others, or those of the lock. The lock is looked up
/// by its name: the type of a lock that was added to the registry does not say which lock it is.
fn counted(changes: &Changes, setup: &Setup) -> Option<Counted> {
    let queue = changes.queues.values().map(|service| service.kind.info().counted).next();
    queue.or_else(|| Some(baton_sync::lock::info(&setup.choice.lock).ok()?.counted))
}

struct ReplayRun<'a> {
    program: &'a Arc<Program>,
    chip: &'a Chip,
    setup: &'a Setup,
    changes: &'a Changes,
    record: bool,
}

impl TryVisitor<Simulated> for ReplayRun<'_> {
    type Out = Result<(Ran, Trace), RunError>;

    fn visit<L: TryLock<Simulated> + ZeroInit>(self) -> Self::Out {
        let ReplayRun { program, chip, setup, changes, record } = self;
        let counted = counted(changes, setup).unwrap_or(L::INFO.counted);
        let most = program.steps().saturating_mul(EVENTS_PER_STEP).saturating_add(LEAST_EVENTS);
        let options = Options {
            seed: setup.seed,
            cpus: Some(setup.cpus),
            limit: setup.limit,
            memory_bound: setup.memory_bound,
            events: Some(most),
            record,
            heap_bytes: world::heap_bytes(program, changes),
            threads: program.threads.len().max(1),
            instructions: Instructions::of(counted),
            ..Options::default()
        };
        let mut simulation = Simulation::new(chip, &options)?;
        let shared = simulation.outside(|| world::World::<L>::new(program.clone(), setup, changes))?;
        for (thread, script) in program.threads.iter().enumerate() {
            if let Some(at) = script.at {
                let guest = simulation.spawn(shared.spawn(thread as u32, at), shared.body(thread as u32))?;
                shared.started(thread as u32, guest);
            }
        }
        let stuck = |stuck| RunError::Stuck {
            lock: setup.choice.lock.clone(),
            wait: setup.choice.wait,
            stuck: Box::new(stuck),
        };
        let outcome = simulation.run().map_err(stuck);
        let totals = outcome.as_ref().map(|outcome| shared.totals(outcome.cycles)).unwrap_or_default();
        let (done, over, interrupts) = (shared.done(), shared.over(), shared.interrupted.take());
        // Drops the program's objects inside the simulation, where they were created.
        simulation.outside(|| drop(shared));
        let outcome = outcome?;
        if !outcome.finished && setup.limit.is_none_or(|limit| outcome.cycles < limit) {
            let seconds = chip.core.clock.nanos(outcome.cycles).0 / 1_000_000_000;
            return Err(RunError::TooLong { lock: setup.choice.lock.clone(), events: most, seconds });
        }
        let all = |reason| Cycles(outcome.threads.iter().map(|thread| thread.time(reason).0).sum());
        let works = |name: &str| matches!(name, "busy" | "switching" | "off");
        let idle = outcome.cpus.iter().flat_map(|cpu| &cpu.times).filter(|(name, _)| !works(name));
        let ran = Ran {
            time: over.unwrap_or(outcome.cycles),
            concurrent: Cycles(together(outcome.threads.iter().map(|thread| (thread.born.0, thread.ended.0)))),
            cut_off: !outcome.finished,
            totals,
            spin: all(Reason::Spin),
            ready: all(Reason::Ready),
            idle: Cycles(idle.map(|(_, time)| time.0).sum()),
            marked_packets: marked(chip, &outcome),
            placed: placed(&outcome),
            in_order: changes.in_order,
            done,
            interrupts,
            operations: outcome.guest_operations,
        };
        Ok((ran, simulation.into_trace()))
    }
}
