//! What was run, on what, and what is missing.

use baton_units::{Hertz, Nanos};
use serde::{Deserialize, Serialize};

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program and its arguments; empty where the launcher left no description.
    pub command: Vec<String>,
    /// Directory in which it ran.
    pub directory: String,
    /// Name and version of the recorder.
    pub recorder: String,
    /// Wall clock at the start, since 1970.
    pub started_realtime_ns: Nanos,
    /// From start to exit, as the launcher saw it.
    pub elapsed_ns: Option<Nanos>,
    /// Exit status, if it ended by itself.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub exit_signal: Option<i32>,
    /// The lock that served its mutexes; none: the C library's.
    pub lock: Option<String>,
    /// The machine.
    pub host: Host,
    /// The trace's clock.
    pub clock: Clock,
    /// Measured cost of recording one plain event.
    pub probe_event_ns: Option<f64>,
    /// Measured cost of recording a contended acquisition, CPU times included.
    pub probe_contended_ns: Option<f64>,
    /// Its processes.
    pub processes: Vec<Process>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processor model.
    pub processor: String,
    /// Hardware threads that the program could use; 0: not known.
    pub cpus: u32,
    /// Hardware threads a core; 0: not known.
    pub threads_per_core: u32,
    /// NUMA nodes; 0: not known.
    pub nodes: u32,
    /// Kernel name and version.
    pub kernel: String,
    /// C library and version.
    pub libc: String,
}

/// The clock of the time stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `monotonic`, `counter` or `simulated`.
    pub source: String,
    /// Ticks a second.
    pub frequency_hz: Hertz,
}

/// A process of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The kernel's number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// It closed its trace in order; otherwise it was killed or replaced itself.
    pub finished: bool,
}

/// What is missing or uncertain. All sentences for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// What the trace lost.
    pub lost: Vec<String>,
    /// From here on events may be missing.
    pub complete_until_ns: Option<Nanos>,
    /// What the recorder could not see.
    pub unseen: Vec<String>,
    /// What the recorder noted about single objects.
    pub notes: Vec<Note>,
    /// Object files that gave no names or lines.
    pub symbols: Vec<String>,
    /// In which direction the figures err, and by how much.
    pub bias: Vec<String>,
    /// Why no figure should be trusted: other programs used the CPUs.
    pub disturbed: Option<String>,
}

/// A remark on an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub object: String,
    /// The remark.
    pub text: String,
    /// How often it was made.
    pub times: u64,
}
