//! Threads that can never go on, and orders of locks that could bring that about.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// A process that stands still, or in which threads do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Standstill {
    /// `deadlock`: threads wait for each other in a circle, or for a lock whose holder has ended.
    /// `nobody-moves`: all threads wait, and no thread of the process can end a wait of another.
    /// `suspected`: the first thread waits, by joins, for a thread at an object that no thread has
    /// signalled for half of the process's life, and other threads go on; or all threads wait, and a
    /// signal's handler may let one go on.
    pub kind: String,
    /// What happened, as a sentence or two.
    pub headline: String,
    /// The kernel's number of the process.
    pub pid: u32,
    /// Since when no thread of the process has moved; `None` if some threads could still go on.
    pub still_since_ns: Option<Nanos>,
    /// Since when the deadlock has existed; `None` if there is none.
    pub deadlock_since_ns: Option<Nanos>,
    /// When the process ended, if that is known.
    pub until_ns: Option<Nanos>,
    /// Circles of threads, as indices into `threads`: each thread waits for the next one in the
    /// circle, the last for the first.
    pub circles: Vec<Vec<u32>>,
    /// The threads that cannot go on; those of circles first.
    pub threads: Vec<StandingThread>,
    /// The number of living threads that could still go on.
    pub moving: u32,
    /// The number of other processes that stand still too.
    pub other_processes: u32,
    /// What would cure the standstill, as sentences.
    pub cures: Vec<String>,
}

/// A thread that cannot go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StandingThread {
    /// The index of the thread in the report's list.
    pub thread: u32,
    /// What the thread waits for: `lock`, `condition`, `semaphore`, `barrier`, `futex`,
    /// `libc-lock`, `join`, `region` (an idle worker of OpenMP) or `tasks`.
    pub waits_for: String,
    /// Why the wait does not end: `held`, `held-by-ended` (the holder has ended), `not-held` (no
    /// recorded thread holds the lock), `join`, `never-signalled`, `lost-wake-up` (the last signal
    /// found no waiter), `not-signalled` (no signal came since), `never-posted`, `not-posted`,
    /// `not-woken` (a futex), `not-moved` (a queue), `few-arrivals`, `idle` or `tasks`.
    pub why: String,
    /// The lock that the thread waits for.
    pub lock: Option<u32>,
    /// The condition variable, semaphore, barrier or other object that the thread waits at.
    pub waitable: Option<u32>,
    /// The threads that this thread waits for.
    pub blockers: Vec<u32>,
    /// The call site of the wait.
    pub at: String,
    /// When the wait began.
    pub since_ns: Nanos,
    /// The locks that the thread holds and that others of these threads wait for.
    pub holds: Vec<Held>,
    /// The thread's part, as a phrase.
    pub text: String,
}

/// A lock that a thread holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The index of the lock in the report's list.
    pub lock: u32,
    /// The call site that took the lock.
    pub at: String,
    /// The time at which the lock was taken.
    pub since_ns: Nanos,
}

/// A circle of lock orders: threads took the locks in orders that could deadlock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LockOrder {
    /// The orders of the circle. The lock that one order wants is the lock that the next one holds;
    /// the last one wants the lock that the first one holds.
    pub steps: Vec<OrderStep>,
    /// Whether this very circle deadlocked in the recorded run.
    pub happened: bool,
    /// Reasons to doubt the circle, as sentences.
    pub doubts: Vec<String>,
}

/// Two locks that a thread took one inside of the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderStep {
    /// A thread that took the two locks in this order.
    pub thread: u32,
    /// The lock that the thread held.
    pub held: u32,
    /// The call site that took that lock.
    pub held_at: String,
    /// The lock that the thread took while it held the other.
    pub wanted: u32,
    /// The call site that took `wanted`.
    pub wanted_at: String,
    /// How often threads took the two locks in this order.
    pub times: u64,
}
