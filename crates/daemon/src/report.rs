//! What a run came to.

pub use crate::core::Had;
pub use crate::scx::InKernel;
pub use crate::times::Percentiles;
use serde::Serialize;

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub policy: &'static str,
    #[serde(flatten)]
    pub by: By,
    pub fast_cpus: Vec<u32>,
    pub slow_cpus: Vec<u32>,
    /// Whether masks were only decided and not changed.
    pub dry_run: bool,
    pub elapsed_ns: u64,
    pub apps: Vec<AppReport>,
    /// Masks that were changed, and masks that were given back at the end.
    pub masks: u64,
    pub given_back: u64,
    /// From a context switch to the decision about it. `None` if the source has no times.
    pub notices: Option<Percentiles>,
    /// From the change of a mask to the moment at which the thread ran on one of its CPUs.
    pub follows: Option<Percentiles>,
    pub told: Told,
    /// Threads that were left alone: real-time and deadline threads, and those that the kernel
    /// refused to move.
    pub left_alone: u64,
    /// Number of times that a thread's mask was found to be neither the user's nor the daemon's. The
    /// program or another one changed it; the daemon then takes it as the user's.
    pub changed_own: u64,
    /// Number of times that a cpuset cut a thread's mask. The user's mask stays what it was.
    pub cut: u64,
    /// Records of context switches that were lost; the threads' states were read anew each time.
    pub lost: u64,
    /// Number of times that the watchdog had to be started again.
    pub watchdog_restarts: u64,
    /// Why the log could not be written to its end.
    pub log_failed: Option<String>,
    /// CPU time of the daemon itself.
    pub own_cpu_ns: u64,
}

/// Where the daemon saw what threads do, and what placed them.
#[derive(Clone, Debug, Serialize)]
pub struct By {
    /// `context-switch records` or `/proc`.
    pub source: &'static str,
    /// Why the better source could not be used.
    pub source_because: Option<String>,
    /// `affinity` (masks of CPUs) or `scx` (a scheduler in the kernel).
    pub backend: &'static str,
    /// What the scheduler in the kernel came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_kernel: Option<InKernel>,
}

/// What threads told of locks and barriers.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// Whether the policy acts on it.
    pub heard: bool,
    /// Threads that told, and threads for which there was no room.
    pub threads: u64,
    pub without_room: u64,
    /// How long waits had lasted when they were noticed.
    pub waits: Option<Percentiles>,
}

/// What an application came to.
#[derive(Clone, Debug, Serialize)]
pub struct AppReport {
    pub command: String,
    /// The exit code of the program that was started: its own, or 128 + the signal that killed it.
    pub code: Option<u8>,
    #[serde(flatten)]
    pub had: Had,
}
