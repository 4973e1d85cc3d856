//! A whole trace: the threads that took part, the names of things, what was lost, and the events in
//! the order of time.

use crate::clock::{Clock, Ticks};
use crate::event::{Address, Event, SiteId, ThreadIndex};
use crate::kinds::Kinds;
use crate::meta::Meta;
use crate::process::{Module, Process, ProcessExit, ProcessIndex, Thread};
use crate::reader::{Loss, Merge, Segments};
use std::collections::BTreeMap;
use std::sync::OnceLock;

mod flows;
mod tried;

/// A synchronization trace: read from a directory ([`Trace::open`]) or built in memory
/// ([`crate::TraceBuilder`]).
pub struct Trace {
    /// Converts the trace's ticks to nanoseconds.
    pub clock: Clock,
    /// The launcher's description of the run, if it wrote one.
    pub meta: Option<Meta>,
    /// The processes, in the order in which they began their files.
    pub processes: Vec<Process>,
    /// The threads, indexed by [`ThreadIndex`].
    pub threads: Vec<Thread>,
    /// Names of markers and regions, by process and number.
    pub marker_names: BTreeMap<(ProcessIndex, u32), String>,
    /// Names that the program gave to objects, by process and address.
    pub object_names: BTreeMap<(ProcessIndex, Address), String>,
    /// Everything that is missing in the trace, and why. Empty if the trace is complete.
    pub losses: Vec<Loss>,
    pub(crate) content: Content,
    /// All events of the files, once [`Trace::keep_events`] has read them.
    pub(crate) kept: OnceLock<Vec<Event>>,
    /// The loops that [`Trace::interpreted_events`] shows as waits; found when first asked for.
    pub(crate) loops: OnceLock<tried::Loops>,
    /// The waits at streams that [`Trace::interpreted_events`] shows; found when first asked for.
    pub(crate) flows: OnceLock<flows::Flows>,
    /// How the processes ended; found when first asked for ([`crate::analysis::exits()`]).
    pub(crate) exits: OnceLock<BTreeMap<ProcessIndex, ProcessExit>>,
}

pub(crate) enum Content {
    Memory(Vec<Event>),
    Files(Segments),
}

/// The most events that [`Trace::keep_events`] keeps.
const MOST_KEPT: u64 = 1 << 23;

impl Trace {
    /// Reads all events into memory, 48 bytes each, so that further walks over them are several times as fast.
    /// Traces of more than 8 million events stay in their files.
    pub fn keep_events(&self) {
        if let Content::Files(segments) = &self.content
            && self.len() <= MOST_KEPT
        {
            self.kept.get_or_init(|| {
                let mut events = Vec::with_capacity(self.len() as usize);
                events.extend(Merge::new(segments, Kinds::ALL));
                events
            });
        }
    }

    /// Frees the memory of [`Trace::keep_events`].
    pub fn forget_events(&mut self) {
        self.kept.take();
    }

    /// Returns all events by time. Events with equal times come in the order of their threads if
    /// the trace was recorded, then as they were written; in a trace built in memory, as they were
    /// pushed.
    pub fn events(&self) -> Events<'_> {
        match self.kept.get() {
            Some(events) => Events(Inner::Memory(events.iter())),
            None => self.read(Kinds::ALL),
        }
    }

    /// Returns the events of some kinds, in the order of [`Trace::events`]. Where these kinds are
    /// rare, most of the trace is not read.
    pub fn events_of(&self, kinds: Kinds) -> impl Iterator<Item = Event> + use<'_> {
        self.read(kinds).filter(move |event| kinds.has(event.what.encode().code))
    }

    /// Reads all events of the given kinds, and perhaps some of other kinds.
    fn read(&self, kinds: Kinds) -> Events<'_> {
        Events(match &self.content {
            Content::Memory(events) => Inner::Memory(events.iter()),
            Content::Files(segments) => Inner::Files(Box::new(Merge::new(segments, kinds))),
        })
    }

    /// Returns all events by time. Shows loops that try a lock until they get it as waits, and the waits at
    /// pipes, sockets and eventfds for threads of the recording. Leaves out what went through a stream that
    /// has an end outside of the recording.
    pub fn interpreted_events(&self) -> Interpreted<'_> {
        let loops = self.loops.get_or_init(|| tried::loops(self));
        let flows = self.flows.get_or_init(|| flows::flows(self.events_of(Kinds::FLOWS)));
        Interpreted(match loops.is_empty() && flows.is_empty() {
            true => Shown::AsRecorded(self.events()),
            false => Shown::WithWaits(flows::WithWaits::new(tried::Tried::new(self.events(), loops), flows)),
        })
    }

    /// Returns the events of the complete part of the trace, up to [`Trace::complete_until`], as
    /// [`Trace::interpreted_events`] shows them.
    pub fn complete_events(&self) -> impl Iterator<Item = Event> + use<'_> {
        let end = self.complete_until().unwrap_or(Ticks(u64::MAX));
        self.interpreted_events().take_while(move |event| event.time <= end)
    }

    /// Returns the number of events of all threads.
    pub fn len(&self) -> u64 {
        self.threads.iter().map(|t| t.events).sum()
    }

    /// Whether the trace has no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the times of the first and the last event.
    pub fn span(&self) -> (Ticks, Ticks) {
        let present = || self.threads.iter().filter(|t| t.events > 0);
        let first = present().map(|t| t.first).min().unwrap_or_default();
        (first, present().map(|t| t.last).max().unwrap_or_default())
    }

    /// Returns the time up to which no event is missing; `None` if no process stopped recording
    /// early. After that time some threads could still record and others could not, so an analysis
    /// of the rest would be wrong.
    pub fn complete_until(&self) -> Option<Ticks> {
        self.processes.iter().filter_map(|p| p.stopped.map(|(_, at)| at)).min()
    }

    /// Returns a thread's entry, if the trace knows the thread.
    pub fn thread(&self, thread: ThreadIndex) -> Option<&Thread> {
        self.threads.get(thread.index())
    }

    /// Returns the process of a thread; the first process for a thread that the trace does not
    /// know.
    pub fn process_of(&self, thread: ThreadIndex) -> ProcessIndex {
        self.thread(thread).map_or(ProcessIndex(0), |t| t.process)
    }

    /// Returns the return addresses of a call site, innermost first; empty if the site is not
    /// defined.
    pub fn site(&self, process: ProcessIndex, site: SiteId) -> &[Address] {
        self.processes.get(process.0 as usize).and_then(|p| p.sites.get(&site)).map_or(&[], Vec::as_slice)
    }

    /// Returns the object file that contained an address at a time: the first file there whose life
    /// was not over yet, because a file may be recorded a little later than it was first met. If
    /// all were over, returns the last one.
    pub fn module(&self, process: ProcessIndex, address: Address, time: Ticks) -> Option<&Module> {
        let modules = &self.processes.get(process.0 as usize)?.modules;
        let mut there = modules.iter().filter(|module| (module.start..module.end).contains(&address));
        there.clone().find(|module| time < module.life.1).or_else(|| there.next_back())
    }

    /// Returns when a call site was first seen; 0 if the site is not defined.
    pub fn site_time(&self, process: ProcessIndex, site: SiteId) -> Ticks {
        self.processes.get(process.0 as usize).and_then(|p| p.site_times.get(&site)).copied().unwrap_or_default()
    }

    /// Returns the name of a process's marker or region.
    pub fn marker_name(&self, process: ProcessIndex, name: u32) -> Option<&str> {
        self.marker_names.get(&(process, name)).map(String::as_str)
    }
}

/// The events of a trace, in the order of time, as [`Trace::interpreted_events`] shows them.
pub struct Interpreted<'a>(Shown<'a>);

enum Shown<'a> {
    /// Nothing is added and nothing left out.
    AsRecorded(Events<'a>),
    WithWaits(flows::WithWaits<'a, tried::Tried<'a>>),
}

impl Iterator for Interpreted<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        match &mut self.0 {
            Shown::AsRecorded(events) => events.next(),
            Shown::WithWaits(events) => events.next(),
        }
    }
}

/// The events of a trace, in the order of time.
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
