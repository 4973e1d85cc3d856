//! Builds traces in memory: for tests, and for the simulator, whose events carry its own clock.

use crate::clock::{Clock, Ticks};
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::meta::Meta;
use crate::process::{Process, ProcessIndex, Thread};
use crate::trace::{Content, Trace};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Collects events in any order; [`TraceBuilder::build`] sorts them. Events with equal times keep
/// the order in which they were pushed.
pub struct TraceBuilder {
    clock: Clock,
    meta: Option<Meta>,
    threads: Vec<Thread>,
    process: Process,
    children: Vec<Process>,
    marker_names: BTreeMap<(ProcessIndex, u32), String>,
    object_names: BTreeMap<(ProcessIndex, Address), String>,
    events: Vec<Event>,
}

impl TraceBuilder {
    /// Starts an empty trace of one process. Simulators pass [`Clock::simulated`], tests mostly
    /// [`Clock::nanoseconds`].
    pub fn new(clock: Clock) -> TraceBuilder {
        TraceBuilder {
            clock,
            meta: None,
            threads: Vec::new(),
            process: Process { finished: true, ..Process::default() },
            children: Vec::new(),
            marker_names: BTreeMap::new(),
            object_names: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Adds a thread called `name`. Returns the thread's index.
    pub fn thread(&mut self, name: &str) -> ThreadIndex {
        let thread = ThreadIndex(self.threads.len() as u32);
        self.threads.push(Thread { name: Some(name.to_owned()), tid: thread.0 + 1, ..Thread::default() });
        thread
    }

    /// Adds a forked process with one thread, whose markers have the first process's names. Returns the
    /// thread's index.
    pub fn child(&mut self, pid: u32) -> ThreadIndex {
        let thread = self.thread(&format!("process {pid}"));
        self.children.push(Process { pid, parent: self.process.pid, finished: true, ..Process::default() });
        self.threads[thread.index()].process = ProcessIndex(self.children.len() as u32);
        thread
    }

    /// Adds an event. If its thread does not exist yet, adds the thread and those before it as
    /// well.
    pub fn push(&mut self, time: Ticks, thread: ThreadIndex, what: What) -> &mut Self {
        while self.threads.len() <= thread.index() {
            let name = format!("thread {}", self.threads.len());
            self.thread(&name);
        }
        self.events.push(Event { time, thread, what });
        self
    }

    /// Defines a call site by its return addresses, innermost first.
    pub fn site(&mut self, site: SiteId, stack: &[Address]) -> &mut Self {
        self.process.sites.insert(site, stack.to_vec());
        self
    }

    /// Names the marker or region of this number.
    pub fn name_marker(&mut self, number: u32, name: &str) -> &mut Self {
        self.marker_names.insert((ProcessIndex(0), number), name.to_owned());
        self
    }

    /// Names the object at `address`.
    pub fn name_object(&mut self, address: Address, name: &str) -> &mut Self {
        self.object_names.insert((ProcessIndex(0), address), name.to_owned());
        self
    }

    /// Attaches the launcher's description of the run.
    pub fn meta(&mut self, meta: Meta) -> &mut Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the time at which the first process ended.
    pub fn ends(&mut self, at: Ticks) -> &mut Self {
        self.process.end = Some(at);
        self
    }

    /// Finishes the trace.
    pub fn build(mut self) -> Trace {
        self.events.sort_by_key(|e| e.time);
        for event in &self.events {
            let thread = &mut self.threads[event.thread.index()];
            if thread.events == 0 {
                thread.first = event.time;
            }
            thread.last = event.time;
            thread.events += 1;
        }
        let own = std::mem::take(&mut self.marker_names);
        for process in (0..=self.children.len() as u32).map(ProcessIndex) {
            let inherited = own.iter().map(|((_, number), name)| ((process, *number), name.clone()));
            self.marker_names.extend(inherited);
        }
        Trace {
            clock: self.clock,
            meta: self.meta,
            processes: [self.process].into_iter().chain(self.children).collect(),
            threads: self.threads,
            marker_names: self.marker_names,
            object_names: self.object_names,
            losses: Vec::new(),
            content: Content::Memory(self.events),
            kept: OnceLock::new(),
            loops: OnceLock::new(),
            flows: OnceLock::new(),
            exits: OnceLock::new(),
        }
    }
}
