//! Time off the CPU that no recorded wait explains.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// The stretches in which threads were off their CPUs, and waited for nothing that the trace shows,
/// between events at the same two places in the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// The call site of the last event before that has one, or of the recorded call in which the
    /// thread was off its CPU; `None` if there is none since the thread's start.
    pub after: Option<String>,
    /// The call site of the next event, or, if it has none, the last known one; `None` if the
    /// stretch lasted until the thread's end, or if no call site was known yet.
    pub before: Option<String>,
    /// The place that created the threads, if it is known and the stretch has no call site of its
    /// own.
    pub created: Option<String>,
    /// The number of stretches.
    pub times: u64,
    /// The number of threads that these stretches belong to.
    pub threads: u32,
    /// Time ready to run without a CPU, added over threads.
    pub ready_ns: Nanos,
    /// Time blocked by input, output, sleep, a system call of the program's own or Baton's
    /// recorder, added over threads.
    pub blocked_ns: Nanos,
    /// Time off the CPU for an unknown reason, added over threads.
    pub off_ns: Nanos,
    /// The part of all this time that lies on the critical path.
    pub path_ns: Nanos,
}

impl Outside {
    /// The sum of ready, blocked and unknown time.
    pub fn total(&self) -> Nanos {
        self.ready_ns + self.blocked_ns + self.off_ns
    }

    /// The place as a phrase.
    pub fn place(&self) -> String {
        match (&self.after, &self.before, &self.created) {
            (Some(after), Some(before), _) if after == before => format!("around {after}"),
            (Some(after), Some(before), _) => format!("between {after} and {before}"),
            (Some(after), None, _) => format!("after {after}"),
            (None, Some(before), _) => format!("before {before}"),
            (None, None, Some(created)) => format!("in threads created in {created}"),
            (None, None, None) => "between a thread's start and its end".to_owned(),
        }
    }
}
