//! Calls in which the critical path's thread is blocked while other threads of the program are at
//! work. The thread may wait for them: by looking at a flag between two sleeps, through a pipe, an
//! eventfd or a signal, for the end of a child process. No event shows that, so what limits the
//! program in this time is not known.
//!
//! Calls at one place count together, and waits at one condition variable that deadlines end. They
//! count if other threads were at work for at least half of the time: on a CPU, or ready for one, and
//! in no wait. Threads that come to the same place do not count: they do the same thing, each for
//! itself. Threads without recorded context switches do not count either, since they may sleep. Calls
//! that wait for a disk, for a connection or at a file whose other end lies outside of the program do not
//! count: the standard files, and accepted connections in a program that makes none itself. A wait for a
//! child process counts even if no thread was at work, because the child's threads may be missing in the
//! trace.

use super::background::Background;
use super::causes::WaitKind;
use super::objects::{ObjectId, Objects};
use super::off_cpu::{OffCpu, ThreadOffCpu, off_cpu};
use super::path::CriticalPath;
use super::segment::{Doing, PathSegment};
use super::window::{Window, overlap};
use crate::clock::Ticks;
use crate::event::{Event, OffReason, SiteId, SystemCall, ThreadIndex, WakeReason, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// A place with less than 1/`LITTLE_OF_PATH` of the critical path's time is left out where the report looks for what the trace
/// does not explain.
pub const LITTLE_OF_PATH: u64 = 50;

/// The least share of the critical path that must not be explained for a verdict, or for trust in a prediction, to
/// depend on it.
pub const UNEXPLAINED_DECIDES: f64 = 0.1;

/// A place in which the critical path's thread was blocked while other threads were at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The process of the blocked thread.
    pub process: ProcessIndex,
    /// The call site.
    pub site: SiteId,
    /// The call's name: that of the C function.
    pub call: &'static str,
    /// Whether the thread made the call again and again, with hardly anything in between
    /// (a loop that yields the CPU, or naps).
    pub again: bool,
    /// The path's time there.
    pub time: Ticks,
}

/// A place, as the segments of the path name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Call(ProcessIndex, SiteId),
    Condition(ObjectId),
}

/// What is known of a place.
#[derive(Default)]
struct Known {
    /// The path's parts at the place, in order.
    parts: Vec<(Ticks, Ticks)>,
    time: Ticks,
    call: Option<&'static str>,
    site: SiteId,
    /// Whether a call there was at no known file, and the files of the others.
    unknown: bool,
    files: BTreeSet<(ProcessIndex, u16)>,
    /// The threads that come to the place.
    peers: BTreeSet<ThreadIndex>,
    /// Number of other threads that are at work, since when there is one, and for how long there was
    /// one in the parts.
    working: u32,
    since: Ticks,
    beside: Ticks,
}

/// Returns the places of [`Beside`] on the critical path of the whole trace, and the path's length.
/// Waits for child processes count even if the trace has the children: a replay has no such waits.
pub fn unexplained(trace: &Trace, background: &[Background]) -> (Vec<Beside>, Ticks) {
    let path = CriticalPath::without_kin(trace, &Window::whole(trace), &off_cpu(trace), background);
    (path.beside.clone(), path.time(|_| true))
}

impl Beside {
    /// Finds the places, and marks the path's time there as blocked by something that the trace does not
    /// show.
    pub(super) fn mark(path: &mut [PathSegment], trace: &Trace, off: &[ThreadOffCpu]) -> Vec<Beside> {
        let place = |segment: &PathSegment| place(segment, trace, off);
        let mut places: BTreeMap<Place, Known> = BTreeMap::new();
        let mut all = Ticks(0);
        for segment in path.iter() {
            let length = segment.end.since(segment.begin);
            all += length;
            if let Some(place) = place(segment) {
                let known = places.entry(place).or_default();
                known.parts.push((segment.begin, segment.end));
                known.time += length;
            }
        }
        places.retain(|_, known| known.time.0 > all.0 / LITTLE_OF_PATH);
        if places.is_empty() {
            return Vec::new();
        }
        let outside = name(trace, &mut places);
        places.retain(|_, known| known.call.is_some_and(|call| !is_of_devices(call)) && !outside.has_all_of(known));
        measure(trace, &mut places);
        let waits_for_kin = |known: &Known| known.call == Some("waitpid");
        places.retain(|_, known| waits_for_kin(known) || known.beside.0 >= known.time.0 / 2);
        for segment in path.iter_mut().filter(|s| place(s).is_some_and(|place| places.contains_key(&place))) {
            segment.doing = Doing::OffCpu(OffCpu::Blocked);
        }
        let process = |place: &Place, known: &Known| match place {
            Place::Call(process, _) => *process,
            Place::Condition(_) => known.peers.first().map_or(ProcessIndex(0), |thread| trace.process_of(*thread)),
        };
        let beside = |(place, known): (&Place, &Known)| {
            let (process, site, time) = (process(place, known), known.site, known.time);
            Some(Beside { process, site, call: known.call?, again: false, time })
        };
        places.iter().filter_map(beside).collect()
    }
}

/// The place at which the path's thread is blocked in a part of the path.
fn place(segment: &PathSegment, trace: &Trace, off: &[ThreadOffCpu]) -> Option<Place> {
    match segment.doing {
        Doing::OffCpu(OffCpu::Call) => {
            let stretch = off.get(segment.thread.index())?.within(segment.begin, segment.end).next()?;
            Some(Place::Call(trace.process_of(segment.thread), stretch.after?))
        }
        Doing::Waiting { kind: WaitKind::Condition, object } => object.map(Place::Condition),
        _ => None,
    }
}

/// Whether a call waits for a disk, or for a connection.
fn is_of_devices(call: &str) -> bool {
    matches!(call, "fsync" | "fdatasync" | "connect" | "accept" | "accept4")
}

/// The files whose other end may lie outside of the program.
#[derive(Default)]
struct Outside {
    accepted: BTreeSet<(ProcessIndex, u16)>,
    /// Whether the program connects to sockets, perhaps to its own.
    connects: bool,
}

impl Outside {
    fn called(&mut self, process: ProcessIndex, call: SystemCall) {
        match (call.name(), call.file) {
            ("accept" | "accept4", Some(file)) => drop(self.accepted.insert((process, file))),
            ("connect", _) => self.connects = true,
            _ => {}
        }
    }

    /// Whether the other ends of all files of a place lie outside of the program.
    fn has_all_of(&self, known: &Known) -> bool {
        let is_outside = |file: &(ProcessIndex, u16)| file.1 <= 2 || !self.connects && self.accepted.contains(file);
        !known.unknown && !known.files.is_empty() && known.files.iter().all(is_outside)
    }
}

/// Finds the calls and the threads of the places, and the files whose other ends lie outside. Among waits
/// at a condition variable, only those that a deadline ended have a name.
fn name(trace: &Trace, places: &mut BTreeMap<Place, Known>) -> Outside {
    let mut outside = Outside::default();
    let mut objects = Objects::new(trace);
    let mut waits: BTreeMap<ThreadIndex, SiteId> = BTreeMap::new();
    for event in trace.complete_events() {
        let process = trace.process_of(event.thread);
        let object = objects.follow(&event, process);
        let (place, call) = match (event.what, object) {
            (What::Called { call, site }, _) => {
                outside.called(process, call);
                (Place::Call(process, site), Some(call))
            }
            (What::CondWait { site, .. }, Some(id)) => {
                waits.insert(event.thread, site);
                (Place::Condition(id), None)
            }
            (What::CondWake { reason: WakeReason::TimedOut, .. }, Some(id)) => {
                if let Some(known) = places.get_mut(&Place::Condition(id)) {
                    known.call = Some("pthread_cond_timedwait");
                }
                (Place::Condition(id), None)
            }
            _ => continue,
        };
        let Some(known) = places.get_mut(&place) else { continue };
        known.peers.insert(event.thread);
        if let Some(call) = call {
            known.call = Some(call.name());
            known.unknown |= call.file.is_none();
            known.files.extend(call.file.map(|file| (process, file)));
        }
        known.site = match place {
            Place::Call(_, site) => site,
            Place::Condition(_) => waits.get(&event.thread).copied().unwrap_or_default(),
        };
    }
    outside
}

/// What a thread is doing.
#[derive(Clone, Copy, Default)]
struct State {
    /// Whether a context switch of the thread was recorded.
    switched: bool,
    ended: bool,
    blocked: bool,
    waits: u32,
}

impl State {
    fn works(&self) -> bool {
        self.switched && !self.ended && !self.blocked && self.waits == 0
    }

    fn step(&mut self, event: &Event, last: Ticks) {
        match event.what {
            What::OffCpu { reason, .. } => (self.switched, self.blocked) = (true, reason != OffReason::Preempted),
            What::OnCpu { .. } => (self.switched, self.blocked) = (true, false),
            What::Exit | What::ThreadEnd { .. } => self.ended = true,
            what => match what.wait_edge() {
                Some(true) => self.waits += 1,
                Some(false) => self.waits = self.waits.saturating_sub(1),
                None => {}
            },
        }
        self.ended |= event.time >= last;
    }
}

/// Measures for how long other threads were at work in the parts of each place.
fn measure(trace: &Trace, places: &mut BTreeMap<Place, Known>) {
    let mut states = vec![State::default(); trace.threads.len()];
    for event in trace.complete_events() {
        let Some(state) = states.get_mut(event.thread.index()) else { continue };
        let before = state.works();
        state.step(&event, trace.thread(event.thread).map_or(event.time, |thread| thread.last));
        let after = state.works();
        if before == after {
            continue;
        }
        for known in places.values_mut().filter(|known| !known.peers.contains(&event.thread)) {
            match after {
                true => {
                    known.working += 1;
                    if known.working == 1 {
                        known.since = event.time;
                    }
                }
                false => {
                    known.working -= 1;
                    if known.working == 0 {
                        known.beside += overlap(&known.parts, known.since, event.time);
                    }
                }
            }
        }
    }
}
