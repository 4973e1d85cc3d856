//! Time off the CPU that no wait in the trace explains.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// Between two acts of a thread that the trace shows, it was off its CPU and waited for neither.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outside {
    /// The call site of the act before; none: the thread's start.
    pub after: Option<String>,
    /// The call site of the act after; none: the thread's end.
    pub before: Option<String>,
    /// Where the threads were created, where that is known and the stretch has no call site of its own.
    pub created: Option<String>,
    /// How many stretches.
    pub times: u64,
    /// Of how many threads.
    pub threads: u32,
    /// Ready to run without a CPU, added over threads.
    pub ready_ns: Nanos,
    /// Blocked by input, output, sleep or a futex of the program's own, added over threads.
    pub blocked_ns: Nanos,
    /// Off the CPU, why is not known, added over threads.
    pub off_ns: Nanos,
    /// What of these lies on the critical path.
    pub path_ns: Nanos,
}

impl Outside {
    /// All of it.
    pub fn total(&self) -> Nanos {
        self.ready_ns + self.blocked_ns + self.off_ns
    }

    /// The place, in words.
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
