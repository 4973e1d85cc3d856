//! OpenMP in the report: parallel regions, which thread arrives last at their ends, tasks, and
//! waits for tasks.

use super::{Distribution, ratio};
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// A thread that other threads waited for at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CameLast {
    pub thread: u32,
    /// The number of rounds in which the thread arrived last.
    pub rounds: u64,
}

/// The parallel regions that one call site opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParallelRegion {
    /// The function that opens the regions, with its source location.
    pub name: String,
    /// The process of the regions.
    pub pid: u32,
    /// The number of threads in the smallest team.
    pub least_threads: u32,
    /// The number of threads in the largest team.
    pub most_threads: u32,
    /// The durations of the regions, from when the master opened a region until the master went on.
    pub time_ns: Distribution,
    /// Time that threads waited at the regions' ends, added over threads.
    pub end_wait_ns: Nanos,
    /// `end_wait_ns` as a share of the time in which the threads could have worked: the length of
    /// each region times the threads of its team. 0 if all threads arrive together.
    pub imbalance: f64,
    /// The number of region ends at which two threads or more arrived.
    pub ends: u64,
    /// Which thread arrived last at how many of these ends, the most frequent first.
    pub last: Vec<CameLast>,
}

/// A place that creates tasks, or that waits for tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSite {
    /// The function, with its source location.
    pub name: String,
    /// The process of the place.
    pub pid: u32,
    /// `task` if the place creates tasks, `wait` if it waits for them.
    pub kind: String,
    /// For `task`: the durations of the tasks, including other tasks that ran inside them. For
    /// `wait`: the durations of the waits, including tasks that ran during them.
    pub time_ns: Distribution,
    /// For `wait`: the part of the waits during which the thread ran tasks. For `task`: 0.
    pub running_ns: Nanos,
    /// The number of tasks that ran on another thread than the one that created them.
    pub moved: u64,
}

impl ParallelRegion {
    /// The thread that arrived last most often, and its share of the ends.
    pub fn latest(&self) -> Option<(u32, f64)> {
        self.last.first().map(|last| (last.thread, ratio(last.rounds, self.ends)))
    }
}
