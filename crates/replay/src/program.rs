//! What a trace becomes: a script for each thread, and what the scripts share. Durations are cycles of the chip.

pub use crate::ops::Ops;
use baton_units::Cycles;
use serde::Serialize;

/// One step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Computes for so many cycles.
    Work(u64),
    /// Leaves its core for so many cycles: a sleep, or a wait for input or output.
    Delay(u64),
    /// Takes a lock.
    Lock(u32),
    /// Gives it up.
    Unlock(u32),
    /// Takes a reader-writer lock as a writer, or as a reader.
    RwLock(u32, bool),
    /// Gives it up.
    RwUnlock(u32, bool),
    /// Waits for a token: the end of a condition wait.
    TokenWait(u32),
    /// Puts a token down: the signal that ended that wait.
    TokenPost(u32),
    /// Lowers a semaphore, waiting while it is at zero.
    SemTake(u32),
    /// Raises it.
    SemPost(u32),
    /// Meets the others at a barrier.
    Meet(u32),
    /// Starts a thread.
    Spawn(u32),
    /// Waits until a thread has ended.
    Join(u32),
    /// Takes items from a store and does them, until there are none.
    Share(u32),
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its name in the trace.
    pub name: String,
    /// When it starts, if no other thread starts it.
    pub at: Option<Cycles>,
    /// Which of the recorded program's CPUs it may run on, by their rank; empty: all. On a chip with fewer cores in use, ranks go
    /// round.
    pub cpus: Vec<u32>,
    /// What it does.
    pub ops: Ops,
}

/// Items that threads take, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    ops: Ops,
    /// Where each item ends.
    ends: Vec<usize>,
}

impl Store {
    /// An empty one, for so many items of so many steps in all.
    pub(crate) fn with_room(items: usize, steps: usize) -> Store {
        Store { ops: Ops::with_room(steps), ends: Vec::with_capacity(items) }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The steps of an item.
    ///
    /// # Panics
    /// If there are not so many items.
    pub fn item(&self, number: usize) -> impl ExactSizeIterator<Item = Op> + '_ {
        let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ops.between(from, self.ends[number])
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: impl Iterator<Item = Op>) {
        self.ops.append(item);
        self.ends.push(self.ops.len());
    }
}

/// A lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockSpec {
    /// Its address in the recorded program.
    pub address: u64,
    /// How often it was taken.
    pub acquisitions: u64,
    /// It spins in the recorded program and is not replaced (`pthread_spinlock_t`).
    pub spins: bool,
    /// Data lines that hop with it.
    pub lines: Lines,
    /// Its process's number.
    #[serde(skip)]
    pub process: u64,
    /// Its first event, in ticks: an address can have several lives.
    #[serde(skip)]
    pub born: u64,
    /// Threads give it up that do not hold it: it is replayed as a semaphore.
    #[serde(skip)]
    pub handed: bool,
}

/// How many lines of data move from one holder's core to the next's, inferred from how much longer a hold takes when the lock
/// was last held elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lines {
    /// The estimate.
    pub estimate: f64,
    /// The interval that it lies in (95%).
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Holds after own and after foreign ownership that it rests on. Where either is few, nothing is inferred, and holds
    /// stay as long as they were.
    pub own: u64,
    /// See `own`.
    pub foreign: u64,
}

/// How much of the trace could be made into scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayability {
    /// Synchronization events in all.
    pub events: u64,
    /// Failed tries: what the program did then depended on the moment.
    pub failed_tries: u64,
    /// Condition waits whose signal is not in the trace.
    pub unmatched_waits: u64,
    /// Waits for a lock or semaphore that ended by a time-out or a cancellation.
    pub expired_waits: u64,
    /// Acquisitions by which threads of one kind shared out work among themselves, each as much as it could, and which are
    /// replayed as recorded: those that could be made a store are not among them.
    pub dynamic: u64,
    /// Events that the trace lost.
    pub lost: u64,
    /// Threads that no thread in the trace started, beside the first: they arrive from outside.
    pub from_outside: u64,
}

impl Replayability {
    /// Events that cannot be replayed.
    pub fn not_replayable(&self) -> u64 {
        self.failed_tries + self.unmatched_waits + self.expired_waits + self.dynamic + self.lost + self.from_outside
    }

    /// Their share of all.
    pub fn share(&self) -> f64 {
        if self.events == 0 { 0.0 } else { (self.not_replayable() as f64 / self.events as f64).min(1.0) }
    }
}

/// A recorded program, to be run on a chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its threads. The first one is there from the start.
    pub threads: Vec<Script>,
    /// What threads take from when they come to [`Op::Share`]: items, in the order in which they are taken.
    pub stores: Vec<Store>,
    /// Its locks, by the numbers in [`Op::Lock`].
    pub locks: Vec<LockSpec>,
    /// How many reader-writer locks it has.
    pub rwlocks: u32,
    /// First values of its semaphores.
    pub semaphores: Vec<u32>,
    /// Participants of its barriers.
    pub barriers: Vec<u32>,
    /// Those of them that are OpenMP's teams: libgomp's barrier stands for these.
    pub teams: std::collections::BTreeSet<u32>,
    /// How many tokens there are.
    pub tokens: u32,
    /// Stalls of the machine in holds, which each seed draws anew.
    pub stalls: Stalls,
    /// How long the recorded run took.
    pub measured: Cycles,
    /// How long of it two or more threads lived.
    pub concurrent: Cycles,
    /// What of it cannot be replayed.
    pub replayability: Replayability,
    /// What the recording of one event costs.
    pub probe: Probe,
    /// What recording does around a wait for a lock, where the recording is replayed, too.
    pub around: Around,
    /// What is assumed, in sentences for people.
    pub notes: Vec<String>,
}

impl Program {
    /// Steps of all threads. That a thread takes from a store is one for each that does.
    pub fn steps(&self) -> u64 {
        let own = self.threads.iter().map(|thread| thread.ops.len() as u64).sum::<u64>();
        own + self.stores.iter().map(|store| store.ops.len() as u64).sum::<u64>()
    }
}

/// What holds took beyond their usual length at few places: page faults, interrupts, a CPU taken away. These come from the machine
/// and not from the program, so the next run has them elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Holds in all, of which one in `holds / cycles.len()` has a stall.
    pub holds: u64,
    /// How long each was.
    pub cycles: Vec<u64>,
}

/// What the recording does around a wait for a lock: it reads the thread's CPU time. The lock may be free again when it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Between the try that failed and the wait.
    pub before: Cycles,
    /// Behind the wait, with the lock held.
    pub behind: Cycles,
}

/// The cost of recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Probe {
    /// Nanoseconds an event.
    pub event_ns: f64,
    /// The trace says so. Otherwise it is assumed.
    pub recorded: bool,
}
