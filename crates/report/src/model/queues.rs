//! Queues in the report: how fast items pass, how many there are, and who waits at which end.

use super::Distribution;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// A queue of items between threads. A queue at which threads waited is a [`Waitable`](super::Waitable)
/// too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// The index of the queue in [`Report::waitables`](super::Report::waitables), which has its process
    /// and its address.
    pub waitable: u32,
    /// The name, as for a lock.
    pub name: String,
    /// How many items fit; `None` if the queue has no bound, or if the trace does not say.
    pub capacity: Option<u64>,
    /// Items taken from the queue, per second of the report's time.
    pub items_per_s: f64,
    /// The mean number of items in the queue, over time.
    pub mean_depth: f64,
    /// The greatest number of items in the queue.
    pub most_items: u64,
    /// The side that puts items in, and waits where the queue is full.
    pub puts: QueueSide,
    /// The side that takes items out, and waits where the queue is empty.
    pub takes: QueueSide,
}

/// One side of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSide {
    /// The number of items that passed this side.
    pub items: u64,
    /// The waits that ended at a deadline.
    pub timeouts: u64,
    /// Time that threads waited at this side, added over threads, with waits that did not end.
    pub waited_ns: Nanos,
    /// The durations of the waits that ended.
    pub wait_ns: Distribution,
    /// The threads of this side, the one with the most waiting first.
    pub threads: Vec<QueueUser>,
    /// The places at which threads wait at this side, the one with the most waiting first.
    pub places: Vec<QueuePlace>,
    /// Whether items passed this side of a queue between processes that no thread of the recording moved.
    /// Either another process moved them, or (puts) they were in the queue before the recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
}

/// A thread at one side of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueUser {
    pub thread: u32,
    /// The number of items that the thread put in, or took out.
    pub items: u64,
    /// The number of the thread's waits that ended.
    pub waits: u64,
    /// Time that the thread waited.
    pub waited_ns: Nanos,
}

/// A place at which threads wait at a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuePlace {
    /// The function, with its source location.
    pub name: String,
    /// The number of waits that ended.
    pub waits: u64,
    /// Time that threads waited.
    pub waited_ns: Nanos,
}

/// The threads that hold a pipeline up: those that take from a queue that is full, or put into one that
/// is empty, and seldom wait at queues themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowStage {
    /// The threads: all that take from the same queues and put into the same queues.
    pub threads: Vec<u32>,
    /// The queues that they take from, as indices into [`Report::queues`](super::Report::queues).
    pub takes_from: Vec<u32>,
    /// The queues that they put into.
    pub puts_into: Vec<u32>,
    /// Time that other threads waited for room in the queues that the stage takes from.
    pub blocked_ns: Nanos,
    /// Time that other threads waited for items of the queues that the stage puts into.
    pub starved_ns: Nanos,
    /// The share of their lives that the threads of the stage waited at queues themselves.
    pub waiting_share: f64,
}
