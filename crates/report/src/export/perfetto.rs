//! Perfetto's trace format (protobuf `TrackEvent`s), for ui.perfetto.dev and `trace_processor`.
//!
//! Each thread's track shows its waits and critical sections as slices; competition overhead
//! appears as slices inside the waits. An arrow (a flow) leads from the release that ended a wait
//! to the critical section that followed. Where critical sections overlap without nesting (lock A,
//! lock B, unlock A, unlock B), the later one goes to a track of its own below the thread's. Field
//! numbers are those of the `.proto` files under `protos/perfetto/trace` in Perfetto's source.

use super::proto::{Message, varint};
use super::row::object_name;
use super::slices::{self, Placed};
use crate::intervals::{Doing, Entry, Interval};
use crate::model::Report;
use baton_trace::analysis::OffCpu;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The only packet sequence of the file. Interned names belong to it.
const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, `SEQ_NEEDS_INCREMENTAL_STATE`.
const CLEARED: u64 = 1;
const NEEDS: u64 = 2;
/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
/// The first number of a thread track; process tracks have lower numbers.
const THREAD_TRACKS: u64 = 1 << 32;
/// The most tracks per thread: its own, and those for overlapping critical sections.
const LANES: u64 = 1 << 8;

/// The interning table of a text, as the field of `InternedData` that defines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Category = 1,
    EventName = 2,
    AnnotationName = 3,
    AnnotationValue = 29,
}

/// Writes intervals as a Perfetto trace.
pub struct Perfetto<'a, W: Write> {
    report: &'a Report,
    out: W,
    interned: BTreeMap<(Table, String), u64>,
    /// Texts that the next packet must define.
    fresh: Message,
    tracks: BTreeSet<u64>,
    /// Each thread's intervals that a later interval may still contain.
    waiting: BTreeMap<u32, Vec<Interval>>,
    /// Flows that end at the thread's next critical section of a lock.
    flows: BTreeMap<(u32, Option<u32>), u64>,
    next_flow: u64,
}

impl<'a, W: Write> Perfetto<'a, W> {
    /// Begins a trace: the processes, and the start of the interning tables.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(report: &'a Report, out: W) -> io::Result<Self> {
        let mut this = Perfetto {
            report,
            out,
            interned: BTreeMap::new(),
            fresh: Message::new(),
            tracks: BTreeSet::new(),
            waiting: BTreeMap::new(),
            flows: BTreeMap::new(),
            next_flow: 1,
        };
        let mut first = Message::new();
        first.uint(10, SEQUENCE).uint(13, CLEARED);
        this.packet(&first)?;
        let name = report.run.command.first().map_or("", String::as_str);
        for process in &report.run.processes {
            let mut descriptor = Message::new();
            descriptor.uint(1, u64::from(process.pid)).string(6, name);
            for argument in &report.run.command {
                descriptor.string(2, argument);
            }
            let mut track = Message::new();
            track.uint(1, process_track(process.pid)).message(3, &descriptor);
            this.track(&track)?;
        }
        Ok(this)
    }

    /// Takes an interval, and writes it once no later interval of its thread can contain it.
    /// Intervals must come in the order in which [`crate::Profile::intervals`] passes them.
    ///
    /// # Errors
    /// If intervals cannot be written.
    pub fn push(&mut self, interval: &Interval) -> io::Result<()> {
        let thread = interval.thread.0;
        self.waiting.entry(thread).or_default().push(*interval);
        if interval.open == 0 { self.flush(thread) } else { Ok(()) }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        let threads: Vec<u32> = self.waiting.keys().copied().collect();
        for thread in threads {
            self.flush(thread)?;
        }
        self.out.flush()
    }

    /// Writes the intervals of a thread that no later interval can contain.
    fn flush(&mut self, thread: u32) -> io::Result<()> {
        let Some(mut ready) = self.waiting.remove(&thread) else { return Ok(()) };
        let edges = slices::place(&mut ready);
        for (lane, edge) in edges {
            let track = self.lane(thread, lane)?;
            match edge {
                Placed::Begin(interval) => self.begin(track, &interval)?,
                Placed::End(time) => {
                    let mut event = Message::new();
                    event.uint(9, SLICE_END).uint(11, track);
                    self.event(time.0, &event)?;
                }
            }
        }
        ready.clear();
        self.waiting.insert(thread, ready);
        Ok(())
    }

    fn begin(&mut self, track: u64, interval: &Interval) -> io::Result<()> {
        let mut event = Message::new();
        let category = self.intern(Table::Category, category(interval.doing));
        let name = self.intern(Table::EventName, &slice_name(self.report, interval));
        event.uint(9, SLICE_BEGIN).uint(11, track).uint(3, category).uint(10, name);
        if let Some(site) = interval.site.and_then(|s| self.report.sites.get(s as usize))
            && let Some(frame) = site.frames.first()
        {
            let place = frame.place().map_or_else(|| frame.function.clone(), |p| format!("{} ({p})", frame.function));
            self.annotate(&mut event, "site", &place);
        }
        if interval.tries > 0 {
            let name = self.intern(Table::AnnotationName, "tries");
            let mut annotation = Message::new();
            annotation.uint(1, name).uint(3, u64::from(interval.tries));
            event.message(4, &annotation);
        }
        match (interval.doing, interval.from) {
            (Doing::Wait(_), Some((from, released))) => {
                let flow = self.next_flow;
                self.next_flow += 1;
                self.flows.insert((interval.thread.0, interval.object), flow);
                self.release(from.0, released.0, object_name(self.report, interval), flow)?;
            }
            (Doing::Hold(_), _) => {
                if let Some(flow) = self.flows.remove(&(interval.thread.0, interval.object)) {
                    event.fixed64(48, flow);
                }
            }
            _ => {}
        }
        self.event(interval.start.0, &event)
    }

    /// Writes the point at which the flow to the next owner begins.
    fn release(&mut self, thread: u32, time: u64, lock: &str, flow: u64) -> io::Result<()> {
        let track = self.lane(thread, 0)?;
        let category = self.intern(Table::Category, "hand-off");
        let name = self.intern(Table::EventName, &format!("release {lock}"));
        let mut event = Message::new();
        event.uint(9, INSTANT).uint(11, track).uint(3, category).uint(10, name).fixed64(47, flow);
        self.event(time, &event)
    }

    fn annotate(&mut self, event: &mut Message, name: &str, value: &str) {
        let name = self.intern(Table::AnnotationName, name);
        let value = self.intern(Table::AnnotationValue, value);
        let mut annotation = Message::new();
        annotation.uint(1, name).uint(17, value);
        event.message(4, &annotation);
    }

    /// The number of a text. The next packet defines the text if it is new.
    fn intern(&mut self, table: Table, text: &str) -> u64 {
        let next = self.interned.len() as u64 + 1;
        let known = self.interned.entry((table, text.to_owned())).or_insert(next);
        if *known == next {
            let mut entry = Message::new();
            entry.uint(1, next).string(2, text);
            self.fresh.message(table as u32, &entry);
        }
        *known
    }

    /// The track of a thread (lane 0), or one below it. A track is described when it is first used.
    fn lane(&mut self, thread: u32, lane: usize) -> io::Result<u64> {
        let own = THREAD_TRACKS + u64::from(thread) * LANES;
        let number = own + (lane as u64).min(LANES - 1);
        if !self.tracks.insert(number) {
            return Ok(number);
        }
        let mut track = Message::new();
        track.uint(1, number);
        match self.report.threads.get(thread as usize) {
            Some(about) if lane == 0 => {
                let mut descriptor = Message::new();
                descriptor.uint(1, u64::from(about.pid)).uint(2, u64::from(about.tid)).string(5, &about.name);
                track.uint(5, process_track(about.pid)).message(4, &descriptor);
            }
            _ => {
                track.uint(5, own).string(2, "overlapping critical sections");
            }
        }
        self.track(&track)?;
        Ok(number)
    }

    fn track(&mut self, descriptor: &Message) -> io::Result<()> {
        let mut packet = Message::new();
        packet.uint(10, SEQUENCE).message(60, descriptor);
        self.packet(&packet)
    }

    fn event(&mut self, time: u64, event: &Message) -> io::Result<()> {
        let mut packet = Message::new();
        packet.uint(8, time).uint(10, SEQUENCE).uint(13, NEEDS).message(11, event);
        if !self.fresh.as_bytes().is_empty() {
            packet.message(12, &self.fresh);
            self.fresh.clear();
        }
        self.packet(&packet)
    }

    /// Writes one packet. A `Trace` consists of packets alone (field 1), so each can be written by
    /// itself.
    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        let mut head = vec![1 << 3 | 2];
        varint(&mut head, packet.as_bytes().len() as u64);
        self.out.write_all(&head)?;
        self.out.write_all(packet.as_bytes())
    }
}

fn process_track(pid: u32) -> u64 {
    u64::from(pid) + 1
}

fn category(doing: Doing) -> &'static str {
    match doing {
        Doing::Hold(_) => "critical-section",
        Doing::Wait(_) => "wait",
        Doing::Overhead => "competition-overhead",
        Doing::Condition | Doing::Barrier | Doing::Semaphore | Doing::Futex | Doing::LibcLock => "synchronization",
        Doing::Join | Doing::Idle | Doing::TaskWait | Doing::Room | Doing::Item => "synchronization",
        Doing::OffCpu(_) => "off-cpu",
    }
}

fn slice_name(report: &Report, interval: &Interval) -> String {
    let object = object_name(report, interval);
    match interval.doing {
        Doing::Hold(_) => format!("critical section {object}"),
        Doing::Wait(Entry::Spinning) => format!("spin {object}"),
        Doing::Wait(Entry::Sleeping) => format!("sleep {object}"),
        Doing::Wait(_) => format!("wait {object}"),
        Doing::Overhead => "competition overhead".to_owned(),
        Doing::Condition => format!("condition wait {object}"),
        Doing::Barrier => format!("barrier {object}"),
        Doing::Semaphore => format!("semaphore {object}"),
        Doing::Futex => format!("futex {object}"),
        Doing::LibcLock => format!("C library's lock {object}"),
        Doing::Room => format!("queue full {object}"),
        Doing::Item => format!("queue empty {object}"),
        Doing::Join => "join".to_owned(),
        Doing::Idle => "idle between regions".to_owned(),
        Doing::TaskWait => "waits for tasks".to_owned(),
        Doing::OffCpu(OffCpu::Ready) => "ready, without a CPU".to_owned(),
        Doing::OffCpu(OffCpu::Blocked) => "blocked outside of what Baton sees".to_owned(),
        Doing::OffCpu(OffCpu::Call) => "blocked in input, output or sleep".to_owned(),
        Doing::OffCpu(OffCpu::Recorder) => "blocked in the recorder".to_owned(),
        Doing::OffCpu(OffCpu::Unknown) => "off the CPU".to_owned(),
    }
}
