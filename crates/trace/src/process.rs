//! Processes, threads and loaded object files of a run.

use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::writer::StopReason;
use std::collections::BTreeMap;

/// Index of a process in [`Trace::processes`](crate::Trace::processes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIndex(pub u32);

/// How a process ended ([`crate::analysis::exits()`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessExit {
    /// The thread that left the process.
    pub thread: ThreadIndex,
    /// When it did.
    pub time: Ticks,
    /// The threads that were at work until then, if the thread only slept while they worked.
    pub working: Vec<ThreadIndex>,
}

impl ProcessExit {
    /// Whether the event is this end.
    pub(crate) fn is(&self, event: &Event) -> bool {
        event.what == What::Exit && (event.thread, event.time) == (self.thread, self.time)
    }
}

/// A process of the run.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The kernel's number of the process.
    pub pid: u32,
    /// The kernel's number of the parent process.
    pub parent: u32,
    /// The call sites: the return addresses of each, innermost first.
    pub sites: BTreeMap<SiteId, Vec<Address>>,
    /// When each call site was first seen. The time matters because the object file that contains
    /// an address may change.
    pub site_times: BTreeMap<SiteId, Ticks>,
    /// Object files that were loaded, in the order in which their lives began.
    pub modules: Vec<Module>,
    /// Why the process stopped recording before its end, and the time from which on events may be
    /// missing.
    pub stopped: Option<(StopReason, Ticks)>,
    /// Number of the process's events that were lost because there was no room for them.
    pub dropped: u64,
    /// Whether the process closed its session properly. Otherwise it was killed, it replaced its
    /// program (`exec`), or it still runs.
    pub finished: bool,
    /// The wall clock at [`Process::started`], in nanoseconds since 1970.
    pub realtime_ns: u64,
    /// When the recording of the process began.
    pub started: Ticks,
    /// When the process ended, if that is known: the process recorded its end, another program
    /// replaced it, or the launcher saw it end.
    pub end: Option<Ticks>,
}

/// An object file that the process loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The load bias: what is added to the file's own addresses.
    pub bias: Address,
    /// First mapped address.
    pub start: Address,
    /// The first address after the file's mapped addresses.
    pub end: Address,
    /// GNU build id, empty if the file has none.
    pub build_id: Vec<u8>,
    /// Path of the file, as the loader names it.
    pub path: String,
    /// When the file was first seen, and the time from which on it was no longer loaded.
    pub life: (Ticks, Ticks),
}

impl Module {
    /// The life of an object file that was loaded all the time.
    pub const ALWAYS: (Ticks, Ticks) = (Ticks(0), Ticks(u64::MAX));
}

/// A thread of the run.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The process that the thread belongs to.
    pub process: ProcessIndex,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// Time of the thread's first event.
    pub first: Ticks,
    /// Time of the thread's last event.
    pub last: Ticks,
    /// Number of the thread's events.
    pub events: u64,
    /// Number of the thread's events that were lost because there was no room for them.
    pub dropped: u64,
}
