//! What is said of OpenMP: parallel regions, who comes last to their ends, tasks and waits for them.

use super::{Distribution, ratio};
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// A thread that others waited for at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CameLast {
    /// The thread.
    pub thread: u32,
    /// In how many rounds it came last.
    pub rounds: u64,
}

/// The parallel regions that one call site opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParallelRegion {
    /// The function that opens it, and its place in the source.
    pub name: String,
    /// Process.
    pub pid: u32,
    /// Threads of the smallest team.
    pub least_threads: u32,
    /// Threads of the largest.
    pub most_threads: u32,
    /// How long the regions took, from the master's opening to its going on.
    pub time_ns: Distribution,
    /// What threads waited at their ends, added over threads.
    pub end_wait_ns: Nanos,
    /// That, as a share of what the threads could have done meanwhile: 0 where all come at one time.
    pub imbalance: f64,
    /// Ends to which two threads and more came.
    pub ends: u64,
    /// Who came last to how many of them, the most often first.
    pub last: Vec<CameLast>,
}

/// A place that creates tasks, or that waits for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSite {
    /// The function, and its place in the source.
    pub name: String,
    /// Process.
    pub pid: u32,
    /// `task`: created here; `wait`: waited for here.
    pub kind: String,
    /// How long the tasks ran, with others that were run inside of them; or how long the waits took, with the tasks in them.
    pub time_ns: Distribution,
    /// Of the waits' time: while the thread ran tasks. Of a place that creates them: 0.
    pub running_ns: Nanos,
    /// Tasks that another thread ran than the one that created them.
    pub moved: u64,
}

impl ParallelRegion {
    /// The thread that came last most often, and in which share of the ends.
    pub fn latest(&self) -> Option<(u32, f64)> {
        self.last.first().map(|last| (last.thread, ratio(last.rounds, self.ends)))
    }
}
