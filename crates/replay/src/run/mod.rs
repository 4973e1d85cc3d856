//! A program run on a chip under one lock: guest threads that follow their scripts.
//!
//! | file | holds |
//! | --- | --- |
//! | [`world`] | the objects that the guests share |
//! | [`meetings`] | barriers: the recorded ones, or others in their place |
//! | [`mixed`] | locks of another type than the run's own |
//! | [`objects`] | objects that are not replaced: reader-writer and spin locks, tokens |
//! | [`account`] | blocked time, critical sections and competition overhead, while they happen |

mod account;
mod meetings;
mod mixed;
mod objects;
mod world;

pub use account::Totals;

use crate::asymmetric::Placed;
use crate::change::Changes;
use crate::lives::together;
use crate::program::Program;
use baton_chip::config::mechanism::Annotator;
use baton_chip::{Chip, Instructions, Options, Outcome, Reason, Refused, Simulated, Simulation, Stuck};
use baton_machine::Wait;
use baton_sync::barrier::UnknownBarrier;
use baton_sync::lock::{LockError, TryLock, TryVisitor, ZeroInit};
use baton_trace::Trace;
use baton_units::Cycles;
use std::sync::Arc;
use thiserror::Error;

/// A lock and the wait policy of its waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The lock's name in the registry.
    pub lock: String,
    pub wait: Wait,
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    pub choice: Choice,
    /// The seed of the chip's noise. It also places the number of each lock's lines within its
    /// interval; the first seed uses the estimates.
    pub seed: u64,
    /// The number of cores in use.
    pub cpus: u32,
    /// The time at which the run is cut off. A collapse is a result, too.
    pub limit: Option<Cycles>,
    /// The share of computing that waits for memory, 0 to 1. It takes as long on a core of any
    /// clock.
    pub memory_bound: f64,
}

impl Setup {
    /// Settings with the first seed, without a limit, and with all computing following the clock.
    pub fn new(choice: Choice, cpus: u32) -> Setup {
        Setup { choice, seed: 1, cpus, limit: None, memory_bound: 0.0 }
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// The end of the last thread, or the limit.
    pub time: Cycles,
    /// The part of `time` during which two or more threads lived.
    pub concurrent: Cycles,
    /// Whether the run was cut off.
    pub cut_off: bool,
    /// The totals of all locks.
    pub totals: Totals,
    /// Cycles that threads spent spinning, added over threads.
    pub spin: Cycles,
    /// Cycles that threads spent ready to run without a CPU, added over threads.
    pub ready: Cycles,
    /// Cycles that CPUs spent without a thread, or waking up for one, added over CPUs.
    pub idle: Cycles,
    /// Packets that carried a mark: the requests of locks that give hints, on a chip with OCOR enabled.
    pub marked_packets: u64,
    /// How the threads used fast and slow cores.
    pub placed: Placed,
    /// The steps that threads had begun, out of [`Program::steps`].
    pub done: u64,
    /// The guests' operations, for the speed of the simulation.
    pub operations: u64,
}

/// Why a run failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// There is no such lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no such barrier.
    #[error(transparent)]
    Barrier(#[from] UnknownBarrier),
    /// The chip cannot be simulated with these settings.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The recorded times are so long that the time slices alone are too much to simulate.
    #[error(
        "the replay under lock `{lock}` was given up after {events} simulated events, {seconds} s into the run: the recording's times are too long, or damaged"
    )]
    TooLong {
        lock: String,
        /// The number of events up to that point.
        events: u64,
        /// The simulated seconds up to that point.
        seconds: u64,
    },
    /// The replayed program never ends.
    #[error("the replayed program never ends under lock `{lock}`, wait `{wait}`: {stuck}")]
    Stuck {
        lock: String,
        /// The wait policy.
        wait: Wait,
        /// What each thread waits for.
        stuck: Box<Stuck>,
    },
}

/// Runs the program once.
pub fn run(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<Ran, RunError> {
    run_changed(program, chip, setup, &Changes::default())
}

/// Like [`run`](fn@run), with changes to some locks.
pub fn run_changed(program: &Arc<Program>, chip: &Chip, setup: &Setup, changes: &Changes) -> Result<Ran, RunError> {
    for changed in changes.locks.values() {
        changed.lock.iter().try_for_each(|choice| baton_sync::lock::visit_try(&choice.lock, mixed::Exists))?;
    }
    if let Some(meeting) = &changes.barrier {
        baton_sync::barrier::visit::<Simulated, _>(&meeting.barrier, meetings::Exists)?;
    }
    let run = Run { program, chip, setup, changes, record: false };
    baton_sync::lock::visit_try(&setup.choice.lock, run)?.map(|(ran, _)| ran)
}

/// Like [`run`](fn@run); also returns the events of the locks as a trace.
pub fn run_recorded(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<(Ran, Trace), RunError> {
    baton_sync::lock::visit_try(
        &setup.choice.lock,
        Run { program, chip, setup, changes: &Changes::default(), record: true },
    )?
}

/// The number of marked packets. Every coherent chip counts lock requests, but only a chip with a
/// mechanism marks them.
fn marked(chip: &Chip, outcome: &Outcome) -> u64 {
    let marks = chip.coherent.as_ref().is_some_and(|coherent| coherent.mechanisms.active().is_enabled());
    if marks { outcome.network.lock_packets } else { 0 }
}

/// How all threads together used fast and slow cores, if the policy distinguishes them.
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

/// The most simulated events of a run: a number per step of the program, plus an allowance for time
/// slices, which pass however little the program does. Two hours on two busy CPUs have five million
/// slices; a program that takes a lock every second is never cut off.
const EVENTS_PER_STEP: u64 = 1_000;
const LEAST_EVENTS: u64 = 5_000_000;

struct Run<'a> {
    program: &'a Arc<Program>,
    chip: &'a Chip,
    setup: &'a Setup,
    changes: &'a Changes,
    record: bool,
}

impl TryVisitor<Simulated> for Run<'_> {
    type Out = Result<(Ran, Trace), RunError>;

    fn visit<L: TryLock<Simulated> + ZeroInit>(self) -> Self::Out {
        let Run { program, chip, setup, changes, record } = self;
        // By name: an added lock's type does not say which lock it is.
        let counted = baton_sync::lock::info(&setup.choice.lock).map_or(L::INFO.counted, |info| info.counted);
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
        let shared = simulation.outside(|| world::World::<L>::new(program.clone(), setup, changes));
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
        let done = shared.done();
        // The program's objects are dropped inside the simulation, where they were created.
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
            time: outcome.cycles,
            concurrent: Cycles(together(outcome.threads.iter().map(|thread| (thread.born.0, thread.ended.0)))),
            cut_off: !outcome.finished,
            totals,
            spin: all(Reason::Spin),
            ready: all(Reason::Ready),
            idle: Cycles(idle.map(|(_, time)| time.0).sum()),
            marked_packets: marked(chip, &outcome),
            placed: placed(&outcome),
            done,
            operations: outcome.guest_operations,
        };
        Ok((ran, simulation.into_trace()))
    }
}
