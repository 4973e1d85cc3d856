//! The critical path: the chain of work and waiting, from the program's end back to its beginning, that its time consists of.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// The critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Its length.
    pub length_ns: Nanos,
    /// Its time by what was done, the greatest first.
    pub parts: Vec<PathPart>,
    /// Its steps in the order of time. Of a path of more than 500: the step that takes most of each five-hundredth of the time.
    pub steps: Vec<PathStep>,
    /// How many steps it has in truth.
    pub steps_total: u64,
}

/// A share of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathPart {
    /// `running` (on a CPU, outside of critical sections), `ready` (without a CPU), `blocked` (by what Baton does not see), `off-cpu`
    /// (why is not known); the same inside of one: `critical-section`, `critical-section-ready` and so on; `lock-hand-off`,
    /// `lock-wait`, or the like for what is not a lock.
    pub kind: String,
    /// The lock, where there is one.
    pub lock: Option<u32>,
    /// The condition variable, barrier or semaphore, where there is one.
    pub waitable: Option<u32>,
    /// How long, together.
    pub total_ns: Nanos,
}

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// Thread that the path runs through.
    pub thread: u32,
    /// What it did, as in [`PathPart::kind`].
    pub kind: String,
    /// The lock, where there is one.
    pub lock: Option<u32>,
    /// The condition variable, barrier or semaphore, where there is one.
    pub waitable: Option<u32>,
    /// Beginning, since the trace's.
    pub start_ns: Nanos,
    /// End.
    pub end_ns: Nanos,
}
