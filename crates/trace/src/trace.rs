//! A whole trace: which threads took part, what things are called, what was lost, and its events in the order of time.

use crate::clock::{Clock, Ticks};
use crate::event::{Address, Event, SiteId, ThreadIndex};
use crate::kinds::Kinds;
use crate::meta::Meta;
use crate::reader::{Loss, Merge, Segments};
use crate::writer::StopReason;
use std::collections::BTreeMap;

/// A synchronization trace, from a directory ([`Trace::open`]) or from memory ([`crate::TraceBuilder`]).
pub struct Trace {
    /// How ticks become nanoseconds.
    pub clock: Clock,
    /// What the launcher wrote about the run, if it did.
    pub meta: Option<Meta>,
    /// The processes, in the order in which their files were begun.
    pub processes: Vec<Process>,
    /// The threads; [`ThreadIndex`] is the place in here.
    pub threads: Vec<Thread>,
    /// Names of markers and regions, by process and number.
    pub marker_names: BTreeMap<(ProcessIndex, u32), String>,
    /// Names that the program gave to objects, by process and address.
    pub object_names: BTreeMap<(ProcessIndex, Address), String>,
    /// Everything that is missing, and why. Empty: the trace is whole.
    pub losses: Vec<Loss>,
    pub(crate) content: Content,
}

/// Number of a process in [`Trace::processes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIndex(pub u32);

/// A process of the run.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The kernel's number.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Call sites: return addresses, innermost first.
    pub sites: BTreeMap<SiteId, Vec<Address>>,
    /// When they were seen first: in which object file an address lies may change.
    pub site_times: BTreeMap<SiteId, Ticks>,
    /// Loaded object files, by the beginnings of their lives.
    pub modules: Vec<Module>,
    /// Why it stopped recording before its end, and from when on events may be missing.
    pub stopped: Option<(StopReason, Ticks)>,
    /// Events that found no room.
    pub dropped: u64,
    /// It closed its session in order. Otherwise it was killed, or still runs.
    pub finished: bool,
    /// Wall clock at its start, nanoseconds since 1970.
    pub realtime_ns: u64,
}

/// An object file that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// What is added to the file's addresses.
    pub bias: Address,
    /// First mapped address.
    pub start: Address,
    /// First address after.
    pub end: Address,
    /// GNU build id, empty if it has none.
    pub build_id: Vec<u8>,
    /// Its path, as the loader has it.
    pub path: String,
    /// From when on it was seen, and from when on it was no longer there.
    pub life: (Ticks, Ticks),
}

impl Module {
    /// The life of one that was there all the time.
    pub const ALWAYS: (Ticks, Ticks) = (Ticks(0), Ticks(u64::MAX));
}

/// A thread of the run.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its process.
    pub process: ProcessIndex,
    /// The kernel's number.
    pub tid: u32,
    /// Its name, if it gave one.
    pub name: Option<String>,
    /// Its first event.
    pub first: Ticks,
    /// Its last event.
    pub last: Ticks,
    /// How many events it has.
    pub events: u64,
    /// Events that found no room.
    pub dropped: u64,
}

pub(crate) enum Content {
    Memory(Vec<Event>),
    Files(Segments),
}

impl Trace {
    /// All events, by time; those of one time by thread, then as they were written.
    pub fn events(&self) -> Events<'_> {
        self.read(Kinds::ALL)
    }

    /// Those of [`Trace::events`] that are of some kinds. Where these are rare, most of the trace is not read for it.
    pub fn events_of(&self, kinds: Kinds) -> impl Iterator<Item = Event> + use<'_> {
        self.read(kinds).filter(move |event| kinds.has(event.what.encode().code))
    }

    /// All events of some kinds, and perhaps others.
    fn read(&self, kinds: Kinds) -> Events<'_> {
        Events(match &self.content {
            Content::Memory(events) => Inner::Memory(events.iter()),
            Content::Files(segments) => Inner::Files(Box::new(Merge::new(segments, kinds))),
        })
    }

    /// The events of the part that is complete: up to [`Trace::complete_until`].
    pub fn complete_events(&self) -> impl Iterator<Item = Event> + use<'_> {
        let end = self.complete_until().unwrap_or(Ticks(u64::MAX));
        self.events().take_while(move |event| event.time <= end)
    }

    /// How many events there are.
    pub fn len(&self) -> u64 {
        self.threads.iter().map(|t| t.events).sum()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Time of the first and of the last event.
    pub fn span(&self) -> (Ticks, Ticks) {
        let present = || self.threads.iter().filter(|t| t.events > 0);
        let first = present().map(|t| t.first).min().unwrap_or_default();
        (first, present().map(|t| t.last).max().unwrap_or_default())
    }

    /// Up to here every event is there. After it some threads could still record and others could not, so what
    /// an analysis makes of that part is wrong. `None`: the whole.
    pub fn complete_until(&self) -> Option<Ticks> {
        self.processes.iter().filter_map(|p| p.stopped.map(|(_, at)| at)).min()
    }

    /// A thread's entry.
    pub fn thread(&self, thread: ThreadIndex) -> Option<&Thread> {
        self.threads.get(thread.index())
    }

    /// The process of a thread (the first one for a thread that the trace does not know).
    pub fn process_of(&self, thread: ThreadIndex) -> ProcessIndex {
        self.thread(thread).map_or(ProcessIndex(0), |t| t.process)
    }

    /// Return addresses of a call site, innermost first; empty if it is not defined.
    pub fn site(&self, process: ProcessIndex, site: SiteId) -> &[Address] {
        self.processes.get(process.0 as usize).and_then(|p| p.sites.get(&site)).map_or(&[], Vec::as_slice)
    }

    /// The object file in which an address lay at a time. It may have been written down a little later than it was first met, so it is
    /// the first one there whose life was not over.
    pub fn module(&self, process: ProcessIndex, address: Address, time: Ticks) -> Option<&Module> {
        let modules = &self.processes.get(process.0 as usize)?.modules;
        let mut there = modules.iter().filter(|module| (module.start..module.end).contains(&address));
        there.clone().find(|module| time < module.life.1).or_else(|| there.next_back())
    }

    /// When a call site was seen first.
    pub fn site_time(&self, process: ProcessIndex, site: SiteId) -> Ticks {
        self.processes.get(process.0 as usize).and_then(|p| p.site_times.get(&site)).copied().unwrap_or_default()
    }

    /// Name of a marker or region.
    pub fn marker_name(&self, process: ProcessIndex, name: u32) -> Option<&str> {
        self.marker_names.get(&(process, name)).map(String::as_str)
    }
}

/// Iterator over a trace's events, by time.
pub struct Events<'a>(Inner<'a>);

enum Inner<'a> {
    Memory(std::slice::Iter<'a, Event>),
    Files(Box<Merge<'a>>),
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        match &mut self.0 {
            Inner::Memory(events) => events.next().copied(),
            Inner::Files(merge) => merge.next(),
        }
    }
}
