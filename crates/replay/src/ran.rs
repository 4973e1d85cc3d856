//! A run of a program: the lock and settings that it uses, its result, and why it may fail.

use baton_chip::{Refused, Stuck};
use baton_machine::Wait;
use baton_sync::barrier::UnknownBarrier;
use baton_sync::lock::LockError;
use baton_sync::queue::QueueError;
use baton_units::Cycles;
use serde::Serialize;
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
    /// The seed of the chip's noise. It also chooses how many data lines move with each lock,
    /// within the interval of that number (the first seed takes the estimates), which holds have
    /// stalls, and what each hold of a changed lock is: which part it takes, or whether it only
    /// reads.
    pub seed: u64,
    /// The number of cores in use.
    pub cpus: u32,
    /// The time at which the run is cut off, if it has not ended: a collapse is a result, too.
    pub limit: Option<Cycles>,
    /// The share of computing that waits for memory, 0 to 1. This share takes as long on a core of
    /// any clock.
    pub memory_bound: f64,
}

impl Setup {
    /// Returns settings with the first seed, without a limit, and with all computing following the
    /// core's clock.
    pub fn new(choice: Choice, cpus: u32) -> Setup {
        Setup { choice, seed: 1, cpus, limit: None, memory_bound: 0.0 }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// The time at which the last thread ended, or the limit.
    pub time: Cycles,
    /// The part of `time` during which two or more threads lived.
    pub concurrent: Cycles,
    /// Whether the run was cut off at the limit.
    pub cut_off: bool,
    /// The totals of all locks.
    pub totals: Totals,
    /// Cycles that threads spent spinning, added over threads.
    pub spin: Cycles,
    /// Cycles that threads spent ready to run without a CPU, added over threads.
    pub ready: Cycles,
    /// Cycles that CPUs spent without a thread, or waking up for one, added over CPUs.
    pub idle: Cycles,
    /// Packets that carried a mark: the requests of locks that give hints, on a chip with a
    /// mechanism such as OCOR.
    pub marked_packets: u64,
    /// How the threads used fast and slow cores.
    pub placed: Placed,
    /// Whether the threads used the queues in the recorded order, as they would have waited for ever
    /// in the order of their arrival.
    pub in_order: bool,
    /// The number of steps that threads had begun, of all
    /// [`Program::steps`](crate::program::Program::steps).
    pub done: u64,
    /// The holds in which a thread only worked, and which interrupts of the simulated machine stretched:
    /// by how many cycles each.
    pub interrupts: Vec<u64>,
    /// The number of operations of all simulated threads, by which the simulation's speed is
    /// measured.
    pub operations: u64,
}

/// Why a run failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// There is no lock of this name.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no barrier of this name.
    #[error(transparent)]
    Barrier(#[from] UnknownBarrier),
    /// A queue of this kind cannot be made.
    #[error("queue `{kind}`: {why}")]
    Queue { kind: &'static str, why: QueueError },
    /// The chip cannot be simulated with these settings.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The recorded times are so long that simulating the time slices alone would take too long.
    #[error(
        "the replay under lock `{lock}` was given up after {events} simulated events, {seconds} s into the run: the recording's times are too long, or damaged"
    )]
    TooLong {
        lock: String,
        /// The number of events that were simulated until then.
        events: u64,
        /// The seconds that had been simulated until then.
        seconds: u64,
    },
    /// The replayed program never ends: threads wait for ever.
    #[error("the replayed program never ends under lock `{lock}`, wait `{wait}`: {stuck}")]
    Stuck {
        lock: String,
        /// The wait policy.
        wait: Wait,
        /// What each thread waits for.
        stuck: Box<Stuck>,
    },
}

/// The totals of all locks, in cycles added over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub acquisitions: u64,
    /// Acquisitions that waited.
    pub contended: u64,
    /// The part of the waiting time during which the lock was held.
    pub sections: Cycles,
    /// The part of the waiting time during which the lock was free.
    pub overhead: Cycles,
}

/// How a run's threads used fast and slow cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Cycles on fast cores.
    pub fast_cycles: u64,
    /// Cycles on slow cores.
    pub slow_cycles: u64,
    /// How often a thread moved to another core.
    pub migrations: u64,
    /// How often two threads exchanged their cores.
    pub swaps: u64,
    /// How often the policy treated a sequential phase of a program as over before it was.
    pub demotions: u64,
}
