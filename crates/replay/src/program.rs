//! The form of a trace that is replayed: a script for each thread, and what the scripts share.
//! Durations are cycles of the chip.

pub use crate::ops::{Op, Ops};
use baton_units::Cycles;
use serde::Serialize;

/// The script of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The thread's name in the trace.
    pub name: String,
    /// The time at which the thread starts, if no other thread starts it.
    pub at: Option<Cycles>,
    /// The ranks of the recorded program's CPUs on which the thread may run; empty for all. If the
    /// chip has fewer cores in use, ranks wrap around.
    pub cpus: Vec<u32>,
    pub ops: Ops,
    /// The loop of a background thread.
    pub turns: Option<Turns>,
}

/// The loop of a background thread, which goes round until another thread comes to join it: the
/// indices of the first and the last [`Op::Turn`]. At the last one the thread goes back to the first
/// one. Once the joiner has come, the thread goes on behind the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    pub first: usize,
    pub last: usize,
}

/// Items of work that threads take one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    ops: Ops,
    /// The index of the end of each item.
    ends: Vec<usize>,
}

impl Store {
    /// An empty store with room for `items` items, with `steps` steps in all.
    pub(crate) fn with_room(items: usize, steps: usize) -> Store {
        Store { ops: Ops::with_room(steps), ends: Vec::with_capacity(items) }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The steps of an item.
    ///
    /// # Panics
    /// If the number is out of bounds.
    pub fn item(&self, number: usize) -> impl ExactSizeIterator<Item = Op> + '_ {
        let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ops.between(from, self.ends[number])
    }

    pub(crate) fn push(&mut self, item: impl Iterator<Item = Op>) {
        self.ops.append(item);
        self.ends.push(self.ops.len());
    }
}

/// A lock of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockSpec {
    /// The lock's address in the recorded program.
    pub address: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// Whether the lock spins in the recorded program and is not replaced (`pthread_spinlock_t`).
    pub spins: bool,
    /// The data lines that move with the lock.
    pub lines: Lines,
    /// The number of the lock's process.
    #[serde(skip)]
    pub process: u64,
    /// The time of the lock's first event, in ticks. Several locks may exist at one address, one
    /// after the other.
    #[serde(skip)]
    pub born: u64,
    /// Whether threads release the lock that do not hold it; it is then replayed as a semaphore.
    #[serde(skip)]
    pub handed: bool,
}

/// The number of data lines that move from one holder's core to the next's. It is inferred from how
/// much longer a hold takes if the lock was last held on another core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lines {
    pub estimate: f64,
    /// The lower end of the 95% interval.
    pub low: f64,
    /// The upper end of the 95% interval.
    pub high: f64,
    /// The number of holds after a hold on the same core. With too few of either kind nothing is
    /// inferred, and holds keep their length.
    pub own: u64,
    /// The number of holds after a hold on another core.
    pub foreign: u64,
}

/// How much of the trace became scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayability {
    /// All synchronization events.
    pub events: u64,
    /// Failed tries: what the program did next depended on the moment.
    pub failed_tries: u64,
    /// Condition waits whose signal is not in the trace.
    pub unmatched_waits: u64,
    /// Waits for a lock or semaphore that ended by a time-out or a cancellation.
    pub expired_waits: u64,
    /// Acquisitions by which threads of one kind shared out work, and which are replayed as
    /// recorded because no store could be made.
    pub dynamic: u64,
    /// Events that the trace lost.
    pub lost: u64,
    /// Threads, besides the first, that no thread in the trace started.
    pub from_outside: u64,
}

impl Replayability {
    /// The number of events that cannot be replayed.
    pub fn not_replayable(&self) -> u64 {
        self.failed_tries + self.unmatched_waits + self.expired_waits + self.dynamic + self.lost + self.from_outside
    }

    /// The share of events that cannot be replayed.
    pub fn share(&self) -> f64 {
        if self.events == 0 { 0.0 } else { (self.not_replayable() as f64 / self.events as f64).min(1.0) }
    }
}

/// A recorded program in the form that runs on a chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The scripts of the threads. The first thread exists from the start.
    pub threads: Vec<Script>,
    /// The stores that [`Op::Share`] takes items from.
    pub stores: Vec<Store>,
    /// The locks, by the numbers in [`Op::Lock`].
    pub locks: Vec<LockSpec>,
    /// The number of reader-writer locks.
    pub rwlocks: u32,
    /// The initial values of the semaphores.
    pub semaphores: Vec<u32>,
    /// The number of participants of each barrier.
    pub barriers: Vec<u32>,
    /// The barriers of OpenMP teams, which are replayed as libgomp's barrier.
    pub teams: std::collections::BTreeSet<u32>,
    /// The number of tokens.
    pub tokens: u32,
    /// Stalls of the machine within holds, which each seed places anew.
    pub stalls: Stalls,
    /// The duration of the recorded run.
    pub measured: Cycles,
    /// How long two or more threads lived in the recorded run.
    pub concurrent: Cycles,
    /// How much of the trace became scripts.
    pub replayability: Replayability,
    /// The cost of recording one event.
    pub probe: Probe,
    /// The cost of recording around a wait for a lock, if the replay includes recording.
    pub around: Around,
    /// The assumptions, as sentences for people.
    pub notes: Vec<String>,
}

impl Program {
    /// The steps of all threads. Taking from a store counts once for each thread that does.
    pub fn steps(&self) -> u64 {
        let own = self.threads.iter().map(|thread| thread.ops.len() as u64).sum::<u64>();
        own + self.stores.iter().map(|store| store.ops.len() as u64).sum::<u64>()
    }
}

/// The excess of a few holds over their usual length: page faults, interrupts, a lost CPU. They
/// come from the machine and not from the program, so the next run has them elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The number of all holds. One in `holds / cycles.len()` has a stall.
    pub holds: u64,
    /// The length of each stall.
    pub cycles: Vec<u64>,
}

/// What recording does around a wait for a lock: it reads the thread's CPU time. The lock may be
/// free again afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The time between the failed try and the wait.
    pub before: Cycles,
    /// The time after the wait, with the lock held.
    pub behind: Cycles,
}

/// The cost of recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Probe {
    /// Nanoseconds per event.
    pub event_ns: f64,
    /// Whether the trace states the cost; otherwise it is assumed.
    pub recorded: bool,
}
