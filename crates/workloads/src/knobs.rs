//! The settings of all workloads, and the reasons why a setting is refused.

use crate::inputs::Inputs;
use baton_machine::Wait;
use baton_sync::barrier::{BARRIERS, BarrierInfo};
use baton_sync::lock::{self, LockInfo};
use baton_sync::queue::{QUEUES, QueueInfo};
use std::fmt;
use std::path::Path;

/// What a stream does with its ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The ranges are read.
    Read,
    /// The ranges are written.
    Write,
    /// Half of a thread's range is read, the other half is written.
    Copy,
}

/// The settings of all workloads. Each workload takes those that concern it.
#[derive(Clone, Copy, Debug)]
pub struct Knobs<'a> {
    /// Number of threads; `None`: the workload's own number.
    pub threads: Option<u32>,
    /// Number of cores of the machine.
    pub cores: u32,
    /// Bytes of a cache line of the machine.
    pub line_bytes: usize,
    /// The name of the lock.
    pub lock: &'a str,
    /// The name of the barrier.
    pub barrier: &'a str,
    /// The name of the queue, or of a model of one.
    pub queue: &'a str,
    /// How threads wait; `None`: as the lock or the workload wants.
    pub wait: Option<Wait>,
    /// Cycles computed with the lock held.
    pub critical: u64,
    /// Cycles computed between two acquisitions, meetings or items.
    pub think: u64,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of lines that threads write: shared ones, or in the workload `ring` each producer's
    /// own.
    pub lines: u32,
    /// Bytes of a range.
    pub bytes: usize,
    /// What a stream does with its ranges.
    pub stream: StreamKind,
    /// Bytes from one thread's word to the next.
    pub spacing: usize,
    /// The reciprocal of the share of accesses that are writes; 0: no access is a write.
    pub one_write_in: u64,
    /// Number of items that a queue has room for.
    pub capacity: usize,
    /// Number of items that a thread moves through a queue at a time.
    pub bulk: usize,
    /// A program's size; `None`: the program's usual size.
    pub size: Option<u32>,
    /// A program's grain; `None`: the program's usual grain.
    pub grain: Option<u32>,
    /// A profile file.
    pub profile: Option<&'a Path>,
    /// The number of one of the profile's draws.
    pub draw: u32,
    /// A profile's own misses, as a multiple of what its draw says.
    pub load: f64,
    /// Number of rounds of each thread; `None`: the workload's own number.
    pub iterations: Option<u64>,
    /// Whether the run is cut off. Most workloads then take `iterations: None` as rounds without
    /// bound ([`Knobs::iterations_or`]).
    pub cut_off: bool,
    /// Seed of a program's input.
    pub seed: u64,
    /// The settings of workloads with packets, jobs and vectors.
    pub inputs: Inputs<'a>,
}

impl Default for Knobs<'_> {
    /// Returns settings for a machine of two cores with lines of 64 bytes, with the defaults of the
    /// simulator's command.
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
    /// Number of threads; 2 if none was set.
    pub fn threads_or_two(&self) -> u32 {
        self.threads.unwrap_or(2)
    }

    /// Number of rounds of each thread. If none was set: no bound for a run that is cut off,
    /// otherwise `usual`.
    pub fn iterations_or(&self, usual: u64) -> u64 {
        self.iterations.unwrap_or(if self.cut_off { u64::MAX } else { usual })
    }

    /// The lock, and how its threads wait.
    ///
    /// # Errors
    /// There is no lock of that name, or the lock cannot wait in the way that was asked for.
    pub fn lock(&self) -> Result<(&'static LockInfo, Wait), Refused> {
        let unknown = |_| Refused::unknown("lock", self.lock, lock::locks().iter().map(|lock| lock.name));
        let info = lock::info(self.lock).map_err(unknown)?;
        Ok((info, info.wait(self.wait).map_err(Refused::Because)?))
    }

    /// The barrier that the settings name.
    ///
    /// # Errors
    /// There is no barrier of that name.
    pub fn barrier(&self) -> Result<&'static BarrierInfo, Refused> {
        let unknown = || Refused::unknown("barrier", self.barrier, BARRIERS.iter().map(|barrier| barrier.name));
        BARRIERS.iter().find(|barrier| barrier.name == self.barrier).ok_or_else(unknown)
    }

    /// The queue.
    ///
    /// # Errors
    /// There is no queue of that name.
    pub fn queue(&self) -> Result<&'static QueueInfo, Refused> {
        let unknown = || Refused::unknown("queue", self.queue, QUEUES.iter().map(|queue| queue.name));
        QUEUES.iter().find(|queue| queue.name == self.queue).ok_or_else(unknown)
    }
}

/// Why a workload cannot be made with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A name that is not in its registry.
    Unknown {
        /// What kind of thing has the name: a lock, a queue.
        kind: &'static str,
        /// The unknown name.
        name: String,
        /// The names in the registry.
        known: Vec<&'static str>,
    },
    /// A reason in words.
    Because(String),
}

impl Refused {
    /// The refusal of a name that is not in its registry.
    pub fn unknown(kind: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> Refused {
        Refused::Unknown { kind, name: name.to_owned(), known: known.collect() }
    }

    /// A refusal with the reason `why`.
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
