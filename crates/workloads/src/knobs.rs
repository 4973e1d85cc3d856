//! What can be set of a workload, and why a setting is refused.

use crate::inputs::Inputs;
use baton_machine::Wait;
use baton_sync::barrier::{BARRIERS, BarrierInfo};
use baton_sync::lock::{self, LOCKS, LockInfo};
use baton_sync::queue::{QUEUES, QueueInfo};
use std::fmt;
use std::path::Path;

/// What is done with the ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Half of a thread's range is read, the other half written.
    Copy,
}

/// The settings of all workloads. Each takes those that concern it.
#[derive(Clone, Copy, Debug)]
pub struct Knobs<'a> {
    /// Threads; left out: the workload's own number.
    pub threads: Option<u32>,
    /// Cores of the machine.
    pub cores: u32,
    /// Bytes of its lines.
    pub line_bytes: usize,
    /// The lock, by name.
    pub lock: &'a str,
    /// The barrier, by name.
    pub barrier: &'a str,
    /// The queue, or a model of one, by name.
    pub queue: &'a str,
    /// How threads wait; left out: as the lock wants.
    pub wait: Option<Wait>,
    /// Cycles computed with the lock held.
    pub critical: u64,
    /// Cycles computed between two acquisitions, meetings or items.
    pub think: u64,
    /// Computations lie within this share of `think`.
    pub spread: f64,
    /// Shared lines.
    pub lines: u32,
    /// Bytes of a range.
    pub bytes: usize,
    /// What a stream does.
    pub stream: StreamKind,
    /// Bytes from one thread's word to the next.
    pub spacing: usize,
    /// One access in so many is a write; 0: none.
    pub one_write_in: u64,
    /// Items that a queue has room for.
    pub capacity: usize,
    /// Items that a thread moves through a queue at a time.
    pub bulk: usize,
    /// A program's size; left out: its usual one.
    pub size: Option<u32>,
    /// A program's grain, likewise.
    pub grain: Option<u32>,
    /// A profile file.
    pub profile: Option<&'a Path>,
    /// The number of one of the profile's draws.
    pub draw: u32,
    /// A profile's own misses, as a multiple of what its draw says.
    pub load: f64,
    /// Rounds a thread; left out: the workload's own number.
    pub iterations: Option<u64>,
    /// Whether the run is cut off: then a number of rounds that is left out is without bound.
    pub cut_off: bool,
    /// Seed of a program's input.
    pub seed: u64,
    /// What workloads with packets, jobs and vectors take.
    pub inputs: Inputs<'a>,
}

impl Default for Knobs<'_> {
    /// Two threads at an `mcs`, with the settings that the simulator's command has.
    fn default() -> Self {
        Knobs {
            threads: None,
            cores: 2,
            line_bytes: 64,
            lock: "mcs",
            barrier: "central",
            queue: "mpmc",
            wait: None,
            critical: 100,
            think: 1000,
            spread: 0.0,
            lines: 0,
            bytes: 1 << 20,
            stream: StreamKind::Read,
            spacing: 8,
            one_write_in: 100,
            capacity: 64,
            bulk: 1,
            size: None,
            grain: None,
            profile: None,
            draw: 0,
            load: 1.0,
            iterations: None,
            cut_off: false,
            seed: 1,
            inputs: Inputs::default(),
        }
    }
}

impl Knobs<'_> {
    /// Threads where two are usual.
    pub fn threads_or_two(&self) -> u32 {
        self.threads.unwrap_or(2)
    }

    /// Rounds a thread where so many are usual.
    pub fn iterations_or(&self, usual: u64) -> u64 {
        self.iterations.unwrap_or(if self.cut_off { u64::MAX } else { usual })
    }

    /// The lock, and how it waits.
    ///
    /// # Errors
    /// There is no such lock, or it does not wait like this.
    pub fn lock(&self) -> Result<(&'static LockInfo, Wait), Refused> {
        let unknown = |_| Refused::unknown("lock", self.lock, LOCKS.iter().map(|lock| lock.name));
        let info = lock::info(self.lock).map_err(unknown)?;
        Ok((info, info.wait(self.wait).map_err(Refused::Because)?))
    }

    /// The barrier.
    ///
    /// # Errors
    /// There is no such barrier.
    pub fn barrier(&self) -> Result<&'static BarrierInfo, Refused> {
        let unknown = || Refused::unknown("barrier", self.barrier, BARRIERS.iter().map(|barrier| barrier.name));
        BARRIERS.iter().find(|barrier| barrier.name == self.barrier).ok_or_else(unknown)
    }

    /// The queue.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn queue(&self) -> Result<&'static QueueInfo, Refused> {
        let unknown = || Refused::unknown("queue", self.queue, QUEUES.iter().map(|queue| queue.name));
        QUEUES.iter().find(|queue| queue.name == self.queue).ok_or_else(unknown)
    }
}

/// Why a workload cannot be had with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A name that is not in its registry.
    Unknown {
        /// What it names.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// In words.
    Because(String),
}

impl Refused {
    /// A name that is not in its registry.
    pub fn unknown(kind: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> Refused {
        Refused::Unknown { kind, name: name.to_owned(), known: known.collect() }
    }

    /// In the words of `why`.
    pub fn because(why: impl fmt::Display) -> Refused {
        Refused::Because(why.to_string())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unknown { kind, name, known } => {
                write!(f, "unknown {kind} `{name}`; expected one of {}", known.join(", "))
            }
            Refused::Because(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refused {}
