//! Processes, threads and loaded object files of a run.

use crate::clock::Ticks;
use crate::event::{Address, SiteId};
use crate::writer::StopReason;
use std::collections::BTreeMap;

/// Index of a process in [`Trace::processes`](crate::Trace::processes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIndex(pub u32);

/// A process of the run.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The kernel's number of the process.
    pub pid: u32,
    /// The kernel's number of the parent process.
    pub parent: u32,
    /// Call sites: return addresses, innermost first.
    pub sites: BTreeMap<SiteId, Vec<Address>>,
    /// When each call site was first seen: the object file that contains an address may change over
    /// time.
    pub site_times: BTreeMap<SiteId, Ticks>,
    /// Object files that were loaded, in the order in which their lives began.
    pub modules: Vec<Module>,
    /// Why the process stopped recording before its end, and from when on events may be missing.
    pub stopped: Option<(StopReason, Ticks)>,
    /// Number of events that found no room.
    pub dropped: u64,
    /// Whether the process closed its session properly. Otherwise it was killed, or still runs.
    pub finished: bool,
    /// Wall clock at the start of the process, in nanoseconds since 1970.
    pub realtime_ns: u64,
    /// When the recording of the process began.
    pub started: Ticks,
    /// When the process ended, if that is known: it said so, another program replaced it, or the
    /// launcher saw it end.
    pub end: Option<Ticks>,
}

/// An object file that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Load bias, which is added to the file's addresses.
    pub bias: Address,
    /// First mapped address.
    pub start: Address,
    /// First address after the mapped ones.
    pub end: Address,
    /// GNU build id, empty if the file has none.
    pub build_id: Vec<u8>,
    /// Path of the file, as the loader names it.
    pub path: String,
    /// When the file was first seen, and from when on it was no longer loaded.
    pub life: (Ticks, Ticks),
}

impl Module {
    /// The life of a file that was loaded all the time.
    pub const ALWAYS: (Ticks, Ticks) = (Ticks(0), Ticks(u64::MAX));
}

/// A thread of the run.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The process that the thread belongs to.
    pub process: ProcessIndex,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// The thread's name, if it set one.
    pub name: Option<String>,
    /// Time of the thread's first event.
    pub first: Ticks,
    /// Time of the thread's last event.
    pub last: Ticks,
    /// Number of the thread's events.
    pub events: u64,
    /// Number of the thread's events that found no room.
    pub dropped: u64,
}
