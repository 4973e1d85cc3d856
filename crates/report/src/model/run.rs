//! The command, the machine, and what the trace lacks.

use baton_units::{Hertz, Nanos};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// The program and its arguments; empty if the launcher left no description.
    pub command: Vec<String>,
    /// The directory in which the program ran.
    pub directory: String,
    /// The name and version of the recorder.
    pub recorder: String,
    /// The wall clock at the start, since 1970.
    pub started_realtime_ns: Nanos,
    /// The time from start to exit, as the launcher measured it.
    pub elapsed_ns: Option<Nanos>,
    /// The exit status, if the program ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended the program.
    pub exit_signal: Option<i32>,
    /// The lock that served the program's mutexes; `None` for the C library's.
    pub lock: Option<String>,
    pub host: Host,
    pub clock: Clock,
    /// The measured cost of recording one plain event.
    pub probe_event_ns: Option<f64>,
    /// The measured cost of recording a contended acquisition, and of its CPU times if these
    /// are read.
    pub probe_contended_ns: Option<f64>,
    /// How much longer the program took because it was recorded; `None` for a simulation, and where
    /// the cost of an event was not measured.
    #[serde(default)]
    pub dilation: Option<Dilation>,
    pub processes: Vec<Process>,
}

/// How much longer a program took because it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dilation {
    /// The time of the recorded run divided by that of the program alone: as measured, or else the
    /// estimate.
    pub times: f64,
    /// The least value of `times`, estimated from the recorder's time along the critical path.
    pub estimated: f64,
    /// The recorder's time along the critical path.
    pub recorder_ns: Nanos,
    /// The time of the program alone (`baton profile --check`); `None` if it was not measured.
    pub alone_ns: Option<Nanos>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The processor model.
    pub processor: String,
    /// The hardware threads that the program could use; 0 if unknown.
    pub cpus: u32,
    /// The hardware threads per core; 0 if unknown.
    pub threads_per_core: u32,
    /// The number of NUMA nodes; 0 if unknown.
    pub nodes: u32,
    /// The kernel's name and version.
    pub kernel: String,
    /// The C library's name and version.
    pub libc: String,
}

/// The clock of the time stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc`, `monotonic`, `counter` or `simulated`.
    pub source: String,
    /// Ticks per second.
    pub frequency_hz: Hertz,
}

/// A process of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The kernel's process id.
    pub pid: u32,
    /// The process id of the parent.
    pub parent: u32,
    /// Whether the process closed its trace properly; otherwise it was killed, or replaced itself
    /// by exec.
    pub finished: bool,
}

/// What the trace lacks, or leaves uncertain, as sentences for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Events and other data that the trace lost.
    pub lost: Vec<String>,
    /// The time from which on events may be missing.
    pub complete_until_ns: Option<Nanos>,
    /// Activity of the program that the recorder cannot see.
    pub unseen: Vec<String>,
    /// Runtimes in the program whose waits the recorder cannot see, as phrases.
    #[serde(default)]
    pub unseen_runtimes: Vec<String>,
    /// The recorder's remarks on single objects.
    pub notes: Vec<Note>,
    /// Object files that provided no names or lines.
    pub symbols: Vec<String>,
    /// The direction and size of systematic errors in the figures.
    pub bias: Vec<String>,
    /// The reason to trust no figure, if other programs used the CPUs.
    pub disturbed: Option<String>,
    /// The limit on the CPU time of the program's group (`cpu.max`), if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
}

/// A limit on the CPU time of the group of processes (cgroup) in which the program ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLimit {
    /// The CPUs whose time the group may use, such as 0.5.
    pub cpus: f64,
    /// The time for which the kernel held the group's threads back, summed over the CPUs.
    pub stopped_ns: Nanos,
}

/// A remark on an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// The object's name.
    pub object: String,
    pub text: String,
    /// The number of times that the remark was made.
    pub times: u64,
}
