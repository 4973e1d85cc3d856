//! A trace in the form that is replayed: a script for each thread, and what the scripts share.
//! Durations are in cycles of the chip.

pub use crate::ops::{Op, Ops};
use crate::queues::recorded::QueueSpec;
use baton_units::Cycles;
use serde::Serialize;

/// The script of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The thread's name in the trace.
    pub name: String,
    /// The time at which the thread starts by itself; `None` if another thread starts it.
    pub at: Option<Cycles>,
    /// The ranks of the recorded program's CPUs on which the thread may run; empty for all. If
    /// fewer of the chip's cores are in use, the ranks wrap around.
    pub cpus: Vec<u32>,
    pub ops: Ops,
    /// The loop of the thread, if it repeats its turns: because it is a background thread, or waits for
    /// the threads in `awaits`.
    pub turns: Option<Turns>,
    /// The threads until whose end the loop goes round; empty for a background thread.
    pub awaits: Vec<u32>,
}

impl Script {
    /// Inserts steps before the step at an index. The thread's loop stays the same.
    pub(crate) fn insert(&mut self, place: usize, ops: impl ExactSizeIterator<Item = Op>) {
        let count = ops.len();
        if let Some(turns) = &mut self.turns {
            for turn in [&mut turns.first, &mut turns.last] {
                *turn += if place <= *turn { count } else { 0 };
            }
        }
        self.ops.insert(place, ops);
    }
}

/// The loop of a thread, which goes round until another thread comes to join the thread, the program
/// ends, or the threads have ended for which this one waits.
/// The indices are those of the first and the last [`Op::Turn`]: at the last, the thread goes back
/// to the first; once that has happened, it goes on behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    pub first: usize,
    pub last: usize,
    /// Whether a signal, a wake or a post that the thread waits for ends the loop. It also ends the sleep
    /// of a turn at once.
    pub told: bool,
}

/// Items of work that threads take one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    ops: Ops,
    /// For each item, the index after its last step.
    ends: Vec<usize>,
}

impl Store {
    /// Returns an empty store with room for `items` items that have `steps` steps in all.
    pub(crate) fn with_room(items: usize, steps: usize) -> Store {
        Store { ops: Ops::with_room(steps), ends: Vec::with_capacity(items) }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the steps of an item.
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
    /// The number of acquisitions in the recording.
    pub acquisitions: u64,
    /// Whether the lock is a `pthread_spinlock_t`, which spins and is not replaced by another
    /// exclusive lock.
    pub spins: bool,
    /// The number of data lines that move with the lock.
    pub lines: Lines,
    /// The number of the lock's process.
    #[serde(skip)]
    pub process: u64,
    /// The time of the lock's first event, in ticks. It tells locks apart that existed at one
    /// address one after the other.
    #[serde(skip)]
    pub born: u64,
    /// Whether a thread that did not hold the lock released it. Such a lock is replayed as a
    /// semaphore.
    #[serde(skip)]
    pub handed: bool,
}

/// The number of data lines that move from one holder's core to the next's. It is inferred from how
/// much longer a hold takes if the lock was last held on another core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lines {
    pub estimate: f64,
    /// The lower end of the 95% interval of the number.
    pub low: f64,
    /// The upper end of the 95% interval of the number.
    pub high: f64,
    /// The number of holds after a hold on the same core. With too few holds of either kind, no
    /// lines are inferred, and holds keep their length.
    pub own: u64,
    /// The number of holds after a hold on another core.
    pub foreign: u64,
}

/// How much of the trace became scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayability {
    /// All synchronization events.
    pub events: u64,
    /// Tries that failed. What the program did next depended on the moment of the try.
    pub failed_tries: u64,
    /// Waits whose cause is not in the trace (a signal, a wake, an arrival), and events that do not
    /// fit because another event is missing.
    pub unmatched_waits: u64,
    /// Waits that ended without what the thread waited for: time-outs at locks and semaphores,
    /// cancelled waits at condition variables, futex waits that were interrupted or failed.
    pub expired_waits: u64,
    /// Acquisitions at places where threads share out work, if no store was made, so that they are
    /// replayed as recorded.
    pub dynamic: u64,
    /// Number of events that the trace lost.
    pub lost: u64,
    /// Threads besides the first that no thread in the trace started.
    pub from_outside: u64,
}

impl Replayability {
    /// Returns the number of events that cannot be replayed.
    pub fn not_replayable(&self) -> u64 {
        self.failed_tries + self.unmatched_waits + self.expired_waits + self.dynamic + self.lost + self.from_outside
    }

    /// Returns the share of events that cannot be replayed.
    pub fn share(&self) -> f64 {
        if self.events == 0 { 0.0 } else { (self.not_replayable() as f64 / self.events as f64).min(1.0) }
    }
}

/// A recorded program in the form that runs on a chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The scripts of the threads. The first thread exists from the start of the run.
    pub threads: Vec<Script>,
    /// The stores that [`Op::Share`] takes items from.
    pub stores: Vec<Store>,
    /// The locks; [`Op::Lock`] gives the index of a lock in this list.
    pub locks: Vec<LockSpec>,
    /// The number of reader-writer locks.
    pub rwlocks: u32,
    /// The initial values of the semaphores.
    pub semaphores: Vec<u32>,
    /// The number of participants of each barrier.
    pub barriers: Vec<u32>,
    /// The barriers of OpenMP teams, which are replayed as libgomp's barrier.
    pub teams: std::collections::BTreeSet<u32>,
    /// The number of tokens that the scripts put down and wait for.
    pub tokens: u32,
    /// The queues that other queues can serve; [`Op::Put`] gives the index of a queue in this list.
    /// Empty if all queues are replayed as messages.
    pub queues: Vec<QueueSpec>,
    /// Stalls of the machine within holds. Each seed puts them into other holds.
    pub stalls: Stalls,
    /// The duration of the recorded run.
    pub measured: Cycles,
    /// How long two or more threads lived in the recorded run.
    pub concurrent: Cycles,
    /// How the program ends.
    pub end: End,
    /// How much of the trace became scripts.
    pub replayability: Replayability,
    /// The cost of recording one event.
    pub probe: Probe,
    /// The cost of recording around a wait for a lock; zero if the replay does not include
    /// recording.
    pub around: Around,
    /// The assumptions of the replay, as sentences for the reader.
    pub notes: Vec<String>,
}

impl Program {
    /// Returns the number of steps of all threads and of all items in stores. Taking items from a
    /// store counts once for each thread that does so.
    pub fn steps(&self) -> u64 {
        let own = self.threads.iter().map(|thread| thread.ops.len() as u64).sum::<u64>();
        own + self.stores.iter().map(|store| store.ops.len() as u64).sum::<u64>()
    }
}

/// How a program ends: with all of its threads, unless one of them ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The thread with whose last step the program ends.
    pub by: Option<u32>,
    /// Whether background threads go on until the program ends, since no thread joins them.
    pub endless: bool,
}

/// The time by which a few holds exceeded their usual length: page faults, interrupts, a lost CPU.
/// The machine causes them and not the program, so the next run has them in other holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The number of all holds. One in `holds / cycles.len()` holds has a stall.
    pub holds: u64,
    /// The length of each stall.
    pub cycles: Vec<u64>,
}

/// What recording does around a wait for a lock: it reads the thread's CPU time before and after.
/// Meanwhile the lock may become free again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The time that recording takes between the failed try and the wait.
    pub before: Cycles,
    /// The time that recording takes after the wait, while the thread holds the lock.
    pub behind: Cycles,
}

/// The cost of recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Probe {
    /// Nanoseconds per event.
    pub event_ns: f64,
    /// Whether the trace states the cost; if it does not, the cost is assumed.
    pub recorded: bool,
}
