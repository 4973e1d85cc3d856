//! A whole trace: the threads that took part, the names of things, what was lost, and the events in
//! the order of time.

use crate::clock::{Clock, Ticks};
use crate::event::{Address, Event, SiteId, ThreadIndex};
use crate::kinds::Kinds;
use crate::meta::Meta;
use crate::process::{Module, Process, ProcessIndex, Thread};
use crate::reader::{Loss, Merge, Segments};
use std::collections::BTreeMap;

/// A synchronization trace, from a directory ([`Trace::open`]) or from memory
/// ([`crate::TraceBuilder`]).
pub struct Trace {
    /// Converts ticks to nanoseconds.
    pub clock: Clock,
    /// The launcher's description of the run, if it wrote one.
    pub meta: Option<Meta>,
    /// The processes, in the order in which their files were begun.
    pub processes: Vec<Process>,
    /// The threads, indexed by [`ThreadIndex`].
    pub threads: Vec<Thread>,
    /// Names of markers and regions, by process and number.
    pub marker_names: BTreeMap<(ProcessIndex, u32), String>,
    /// Names that the program gave to objects, by process and address.
    pub object_names: BTreeMap<(ProcessIndex, Address), String>,
    /// Everything that is missing, and why. Empty if the trace is complete.
    pub losses: Vec<Loss>,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Memory(Vec<Event>),
    Files(Segments),
}

impl Trace {
    /// Returns all events by time; events with equal times by thread, then in the order in which
    /// they were written.
    pub fn events(&self) -> Events<'_> {
        self.read(Kinds::ALL)
    }

    /// Returns the events of some kinds, in the order of [`Trace::events`]. Where these kinds are
    /// rare, most of the trace is not read.
    pub fn events_of(&self, kinds: Kinds) -> impl Iterator<Item = Event> + use<'_> {
        self.read(kinds).filter(move |event| kinds.has(event.what.encode().code))
    }

    /// Reads all events of some kinds, and perhaps others.
    fn read(&self, kinds: Kinds) -> Events<'_> {
        Events(match &self.content {
            Content::Memory(events) => Inner::Memory(events.iter()),
            Content::Files(segments) => Inner::Files(Box::new(Merge::new(segments, kinds))),
        })
    }

    /// Returns the events of the complete part, up to [`Trace::complete_until`].
    pub fn complete_events(&self) -> impl Iterator<Item = Event> + use<'_> {
        let end = self.complete_until().unwrap_or(Ticks(u64::MAX));
        self.events().take_while(move |event| event.time <= end)
    }

    /// Returns the number of events.
    pub fn len(&self) -> u64 {
        self.threads.iter().map(|t| t.events).sum()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the times of the first and the last event.
    pub fn span(&self) -> (Ticks, Ticks) {
        let present = || self.threads.iter().filter(|t| t.events > 0);
        let first = present().map(|t| t.first).min().unwrap_or_default();
        (first, present().map(|t| t.last).max().unwrap_or_default())
    }

    /// Returns the time up to which every event is there; `None` if all are. After it some threads
    /// could still record and others could not, so an analysis of that part would be wrong.
    pub fn complete_until(&self) -> Option<Ticks> {
        self.processes.iter().filter_map(|p| p.stopped.map(|(_, at)| at)).min()
    }

    /// Returns a thread's entry, if the trace knows the thread.
    pub fn thread(&self, thread: ThreadIndex) -> Option<&Thread> {
        self.threads.get(thread.index())
    }

    /// Returns the process of a thread; the first one for a thread that the trace does not know.
    pub fn process_of(&self, thread: ThreadIndex) -> ProcessIndex {
        self.thread(thread).map_or(ProcessIndex(0), |t| t.process)
    }

    /// Returns the return addresses of a call site, innermost first; empty if the site is not
    /// defined.
    pub fn site(&self, process: ProcessIndex, site: SiteId) -> &[Address] {
        self.processes.get(process.0 as usize).and_then(|p| p.sites.get(&site)).map_or(&[], Vec::as_slice)
    }

    /// Returns the object file that contained an address at a time: the first one there whose life
    /// was not over yet, because a file may be recorded a little later than it was first met.
    pub fn module(&self, process: ProcessIndex, address: Address, time: Ticks) -> Option<&Module> {
        let modules = &self.processes.get(process.0 as usize)?.modules;
        let mut there = modules.iter().filter(|module| (module.start..module.end).contains(&address));
        there.clone().find(|module| time < module.life.1).or_else(|| there.next_back())
    }

    /// Returns when a call site was first seen.
    pub fn site_time(&self, process: ProcessIndex, site: SiteId) -> Ticks {
        self.processes.get(process.0 as usize).and_then(|p| p.site_times.get(&site)).copied().unwrap_or_default()
    }

    /// Returns the name of a marker or region.
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
