//! A program run on a chip under one lock: guest threads that follow their scripts.
//!
//! | file | holds |
//! | --- | --- |
//! | [`world`] | the objects that the guests share |
//! | [`meetings`] | barriers: those of the recording, or others in their place |
//! | [`mixed`] | locks that are not the run's own: one by one |
//! | [`objects`] | the objects that are not replaced: reader-writer and spin locks, tokens |
//! | [`account`] | blocked time, critical sections and competition overhead, as they happen |

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

/// A lock and how its waiters wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A name of the registry of locks.
    pub lock: String,
    /// A policy that the lock takes.
    pub wait: Wait,
}

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The lock.
    pub choice: Choice,
    /// The seed of the chip's noise, and of the place of each lock's lines in their interval; the first seed takes the
    /// estimates.
    pub seed: u64,
    /// Cores in use.
    pub cpus: u32,
    /// A run is cut off here: a collapse is a result, too.
    pub limit: Option<Cycles>,
    /// The share of computing that waits for memory, 0 to 1: it takes as long on a core of any clock.
    pub memory_bound: f64,
}

impl Setup {
    /// With the first seed, without a limit; all computing goes by the clock.
    pub fn new(choice: Choice, cpus: u32) -> Setup {
        Setup { choice, seed: 1, cpus, limit: None, memory_bound: 0.0 }
    }
}

/// What came out of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// When the last thread ended, or the limit.
    pub time: Cycles,
    /// Of it, while two or more threads lived.
    pub concurrent: Cycles,
    /// The run was cut off.
    pub cut_off: bool,
    /// All locks together.
    pub totals: Totals,
    /// Cycles that threads spent spinning, added up.
    pub spin: Cycles,
    /// Cycles that threads spent ready to run without a CPU, added up.
    pub ready: Cycles,
    /// Cycles that CPUs spent without a thread, or waking up for one, added up.
    pub idle: Cycles,
    /// Packets that carried a mark: the requests of locks that give hints, on a chip with OCOR enabled.
    pub marked_packets: u64,
    /// What its threads had of fast and slow cores.
    pub placed: Placed,
    /// Steps of the program that threads had begun, of [`Program::steps`].
    pub done: u64,
    /// Operations of the guests, for the speed of the simulation.
    pub operations: u64,
}

/// Why a run cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// No such lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No such barrier.
    #[error(transparent)]
    Barrier(#[from] UnknownBarrier),
    /// The chip cannot be simulated so.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The recorded times are so long that time slices alone are too much to simulate.
    #[error(
        "the replay under lock `{lock}` was given up after {events} simulated events, {seconds} s into the run: the recording's times are too long, or damaged"
    )]
    TooLong {
        /// The lock.
        lock: String,
        /// Events until then.
        events: u64,
        /// Simulated seconds until then.
        seconds: u64,
    },
    /// The replayed program never ends.
    #[error("the replayed program never ends under lock `{lock}`, wait `{wait}`: {stuck}")]
    Stuck {
        /// The lock.
        lock: String,
        /// The policy.
        wait: Wait,
        /// What each thread waits for.
        stuck: Box<Stuck>,
    },
}

/// Runs the program once.
pub fn run(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<Ran, RunError> {
    run_changed(program, chip, setup, &Changes::default())
}

/// As [`run`](fn@run), with some of its locks changed.
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

/// As [`run`](fn@run), with the events of its locks as a trace.
pub fn run_recorded(program: &Arc<Program>, chip: &Chip, setup: &Setup) -> Result<(Ran, Trace), RunError> {
    baton_sync::lock::visit_try(
        &setup.choice.lock,
        Run { program, chip, setup, changes: &Changes::default(), record: true },
    )?
}

/// Lock requests are counted on every coherent chip; only one with a mechanism writes marks into them.
fn marked(chip: &Chip, outcome: &Outcome) -> u64 {
    let marks = chip.coherent.as_ref().is_some_and(|coherent| coherent.mechanisms.active().is_enabled());
    if marks { outcome.network.lock_packets } else { 0 }
}

/// What all threads had of fast and slow cores, where the policy tells them apart.
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

/// A run's simulated events at most: so many for each step of the program, and so many for time slices, which pass however
/// little it does. Two hours of two busy CPUs have five million; a program that takes a lock every second is never cut off.
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
            instructions: Instructions::of(L::INFO.counted),
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
        // Its objects go inside the simulation, as they came.
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
