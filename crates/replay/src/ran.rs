//! A run of a program: its lock and settings, its result, and why it may fail.

use baton_chip::{Refused, Stuck};
use baton_machine::Wait;
use baton_sync::barrier::UnknownBarrier;
use baton_sync::lock::LockError;
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
    /// The steps that threads had begun, out of [`Program::steps`](crate::program::Program::steps).
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

/// The totals of all locks, in cycles added over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub acquisitions: u64,
    /// Acquisitions that waited.
    pub contended: u64,
    /// Waiting time during which the lock was held.
    pub sections: Cycles,
    /// Waiting time during which the lock was free.
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
    /// How often the policy treated a sequential phase as over before it was over.
    pub demotions: u64,
}
