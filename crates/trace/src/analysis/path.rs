//! The critical path: the chain of work and hand-offs that determines the length of the run.
//!
//! The chain is followed backwards from the last event: along a thread while it runs; at a wait
//! that another thread ended, over to that thread at the moment of the cause (release, signal, last
//! arrival, post, end, creation). The time between cause and end of the wait is the hand-off, which
//! is charged to the object. A wait without such a cause, or with one from before the wait, stays
//! on its thread.
//!
//! The end of a background thread ([`super::background()`]) is no cause: the path stays with the thread
//! that joined it. The chain begins at the end of the thread that ended the program: the first
//! thread of the process with the last event, if no other thread of that process ended after it.
//!
//! Along a thread that does not wait for anything the trace shows, time off its CPU
//! ([`super::off_cpu()`]) is separated from running: ready without a CPU, or blocked by something
//! that the trace does not show (pipes, files, sleeping, futexes of the program's own).

use super::along::{Along, AlongThreads, tell_apart};
use super::awaited::Awaited;
use super::background::{Background, background, is_background};
use super::causes::{Causes, WaitKind};
use super::objects::{ObjectId, Objects};
use super::off_cpu::{OffCpu, ThreadOffCpu, off_cpu};
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeMap;

/// The chain, and each object's share of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The parts of the path in the order of time, without gaps inside the window.
    pub segments: Vec<PathSegment>,
    /// Share of each object.
    pub objects: BTreeMap<ObjectId, PathShare>,
    /// Time inside critical sections of any locks; nested sections count once.
    pub sections: Along,
}

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// The thread that the path runs along; for a hand-off, the receiving thread.
    pub thread: ThreadIndex,
    /// When the part begins.
    pub begin: Ticks,
    /// When the part ends.
    pub end: Ticks,
    /// What happens in it.
    pub doing: Doing,
}

/// What happens in a part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The thread runs. If nothing tells about its CPU ([`Known::Nothing`](super::Known::Nothing)),
    /// it may have been off it.
    Running,
    /// The thread is off its CPU, and waits for nothing that the trace shows.
    OffCpu(OffCpu),
    /// The thread runs while others wait at an object of which the trace does not show who holds
    /// it; it was woken there, and wakes the next thread there. Critical sections of locks inside
    /// of this time are not counted as theirs.
    Awaited {
        /// Kind of the others' waits.
        kind: WaitKind,
        /// The object that they wait at.
        object: ObjectId,
    },
    /// The time from a cause in one thread to its effect in the next.
    HandOff {
        /// Kind of the wait that the cause ended.
        kind: WaitKind,
        /// The object waited at, if any.
        object: Option<ObjectId>,
    },
    /// A wait that no other thread's act explains: a time-out, a lock that was already free, a lost
    /// event.
    Waiting {
        /// Kind of the wait.
        kind: WaitKind,
        /// The object waited at, if any.
        object: Option<ObjectId>,
    },
}

/// An object's share of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathShare {
    /// Time that the path runs inside this lock's critical sections; time in nested ones counts for
    /// each lock.
    pub sections: Along,
    /// Time of the object's hand-offs.
    pub handoffs: Ticks,
    /// Number of the object's hand-offs.
    pub hops: u64,
    /// Time of the object's waits without a cause.
    pub waiting: Ticks,
    /// Time of [`Doing::Awaited`].
    pub awaited: Ticks,
}

/// The ends of each process's first thread: when that thread ends, the others are ended with it.
#[derive(Default)]
struct Exits {
    firsts: BTreeMap<ProcessIndex, ThreadIndex>,
    ends: BTreeMap<ProcessIndex, (ThreadIndex, Ticks, u64)>,
}

impl Exits {
    fn step(&mut self, event: &Event, process: ProcessIndex, number: u64) {
        let first = *self.firsts.entry(process).or_insert(event.thread);
        if let What::ThreadEnd { .. } = event.what {
            // A first thread that ended before another thread did not end the process.
            match first == event.thread {
                true => drop(self.ends.insert(process, (event.thread, event.time, number))),
                false => drop(self.ends.remove(&process)),
            }
        }
    }

    fn of(&self, process: ProcessIndex) -> Option<(ThreadIndex, Ticks, u64)> {
        self.ends.get(&process).copied()
    }
}

/// A wait that ended.
struct Stop {
    number: u64,
    begin: Ticks,
    end: Ticks,
    kind: WaitKind,
    object: Option<ObjectId>,
    cause: Option<(ThreadIndex, Ticks, u64)>,
}

impl CriticalPath {
    /// Finds the path through the complete part of the trace, and returns its part inside the
    /// window.
    pub fn of(trace: &Trace, window: &Window) -> CriticalPath {
        CriticalPath::with(trace, window, &off_cpu(trace), &background(trace))
    }

    /// The same, for a caller that has already found the threads' times off their CPUs and the
    /// background threads.
    pub fn with(trace: &Trace, window: &Window, off: &[ThreadOffCpu], background: &[Background]) -> CriticalPath {
        let mut stops = Stops::of(trace, background, window.end());
        let along = tell_apart(stops.walk_back(trace), off);
        stops.awaited.settle();
        let segments = clip(stops.awaited.mark(along), window);
        let mut path = CriticalPath { segments, ..CriticalPath::default() };
        for segment in &path.segments {
            let length = segment.end.since(segment.begin);
            match segment.doing {
                Doing::HandOff { object: Some(object), .. } => {
                    let share = path.objects.entry(object).or_default();
                    share.handoffs += length;
                    share.hops += 1;
                }
                Doing::Waiting { object: Some(object), .. } => {
                    path.objects.entry(object).or_default().waiting += length;
                }
                Doing::Awaited { object, .. } => path.objects.entry(object).or_default().awaited += length,
                _ => {}
            }
        }
        path.add_sections(trace, window.end());
        path
    }

    /// Sums the lengths of all parts that `what` accepts.
    pub fn time(&self, what: impl Fn(&Doing) -> bool) -> Ticks {
        self.segments.iter().filter(|s| what(&s.doing)).map(|s| s.end.since(s.begin)).sum()
    }

    /// Walks over the trace once more, for the critical sections that the path runs through.
    fn add_sections(&mut self, trace: &Trace, end: Ticks) {
        let along = AlongThreads::of(&self.segments, trace.threads.len());
        let mut objects = Objects::new(trace);
        // Start and depth of each hold; for each thread, the number of locks that it holds, and
        // since when it holds any.
        let mut holds: BTreeMap<(ThreadIndex, ObjectId), (Ticks, u32)> = BTreeMap::new();
        let mut any: Vec<(u32, Ticks)> = vec![(0, Ticks(0)); trace.threads.len()];
        for event in trace.complete_events() {
            let Some(id) = objects.follow(&event, trace.process_of(event.thread)) else { continue };
            let (key, now) = ((event.thread, id), event.time);
            let holder = &mut any[event.thread.index()];
            match event.what {
                What::Acquire { .. } | What::Acquired { .. } => {
                    let hold = holds.entry(key).or_insert((now, 0));
                    hold.1 += 1;
                    if hold.1 == 1 {
                        *holder = if holder.0 == 0 { (1, now) } else { (holder.0 + 1, holder.1) };
                    }
                }
                What::Release { .. } => {
                    let Some((since, depth)) = holds.get_mut(&key) else { continue };
                    *depth -= 1;
                    if *depth == 0 {
                        along.add(event.thread, *since, now, &mut self.objects.entry(id).or_default().sections);
                        holds.remove(&key);
                        holder.0 -= 1;
                        if holder.0 == 0 {
                            along.add(event.thread, holder.1, now, &mut self.sections);
                        }
                    }
                }
                _ => {}
            }
        }
        let end = trace.span().1.max(end);
        for ((thread, id), (since, _)) in holds {
            along.add(thread, since, end, &mut self.objects.entry(id).or_default().sections);
        }
        for (thread, (_, since)) in any.iter().enumerate().filter(|(_, (held, _))| *held > 0) {
            along.add(ThreadIndex(thread as u32), *since, end, &mut self.sections);
        }
        self.objects.retain(|_, share| *share != PathShare::default());
    }
}

/// All waits of each thread, and where the path ends: thread, time, and number of the event that
/// ended the run.
struct Stops {
    threads: Vec<Vec<Stop>>,
    last: Option<(ThreadIndex, Ticks, u64)>,
    awaited: Awaited,
}

impl Stops {
    /// Collects the waits up to `end`. If that lies after the last event, threads wait then.
    fn of(trace: &Trace, background: &[Background], end: Ticks) -> Stops {
        let threads = trace.threads.iter().map(|_| Vec::new()).collect();
        let mut stops = Stops { threads, last: None, awaited: Awaited::default() };
        let mut exits = Exits::default();
        let mut objects = Objects::new(trace);
        let mut causes = Causes::new();
        let mut lives = vec![(0, false); trace.threads.len()];
        for event in trace.complete_events() {
            let process = trace.process_of(event.thread);
            let object = objects.follow(&event, process);
            let ended = causes.step(&event, process, object, || ());
            stops.last = Some((event.thread, event.time, causes.number()));
            exits.step(&event, process, causes.number());
            let life = &mut lives[event.thread.index()];
            *life = (causes.number(), life.1 || matches!(event.what, What::ThreadEnd { .. }));
            let Some(ended) = ended else { continue };
            let Some(begin) = ended.begin else { continue };
            stops.awaited.add(ended.kind, ended.object, begin, event.time);
            stops.threads[event.thread.index()].push(Stop {
                number: causes.number(),
                begin,
                end: event.time,
                kind: ended.kind,
                object: ended.object,
                cause: ended
                    .cause
                    .filter(|c| {
                        c.time >= begin && !(ended.kind == WaitKind::Join && is_background(background, c.thread))
                    })
                    .map(|c| (c.thread, c.time, c.number)),
            });
        }
        let exit = stops.last.and_then(|(last, ..)| exits.of(trace.process_of(last)));
        match stops.last {
            Some((_, last, _)) if last < end && exit.is_none() => stops.carry(&lives, &mut causes, end),
            last => stops.last = exit.or(last),
        }
        stops
    }

    /// Lets the path end at `end`, in the thread that acted last of those that wait for nothing.
    /// If all wait, in the one that began to wait last. `lives` has the number of each thread's last
    /// event, and whether the thread has ended.
    fn carry(&mut self, lives: &[(u64, bool)], causes: &mut Causes<()>, end: Ticks) {
        let number = causes.number();
        let living = (0..).map(ThreadIndex).zip(lives).filter(|(_, (last, ended))| *last > 0 && !ended);
        let living: Vec<_> = living.map(|(thread, (last, _))| (thread, *last, causes.innermost(thread))).collect();
        let free = living.iter().filter(|(.., wait)| wait.is_none()).max_by_key(|(_, last, _)| *last);
        if let Some((thread, ..)) = free {
            self.last = Some((*thread, end, number));
            return;
        }
        let waits = living.into_iter().filter_map(|(thread, _, wait)| Some((thread, wait?)));
        let Some((thread, (kind, begun))) = waits.max_by_key(|(_, (_, begun))| begun.time) else { return };
        let (begin, object) = (begun.time, begun.object);
        self.threads[thread.index()].push(Stop { number, begin, end, kind, object, cause: None });
        self.last = Some((thread, end, number));
    }

    /// Follows the chain from the last event to the first.
    fn walk_back(&self, trace: &Trace) -> Vec<PathSegment> {
        let Some((mut thread, mut time, number)) = self.last else { return Vec::new() };
        let mut path = Vec::new();
        let mut number = number + 1;
        let mut push = |thread, begin: Ticks, end: Ticks, doing| {
            if begin < end || matches!(doing, Doing::HandOff { .. }) {
                path.push(PathSegment { thread, begin, end, doing });
            }
        };
        loop {
            let mine = &self.threads[thread.index()];
            let before = &mine[..mine.partition_point(|s| s.number < number)];
            // A wait that seems to end later belongs to a signal handler that ran inside the wait
            // just left.
            let Some(stop) = before.iter().rev().find(|s| s.end <= time) else { break };
            push(thread, stop.end, time, Doing::Running);
            let (kind, object) = (stop.kind, stop.object);
            match stop.cause {
                Some((giver, given, cause)) => {
                    push(thread, given, stop.end, Doing::HandOff { kind, object });
                    (thread, time, number) = (giver, given, cause);
                }
                None => {
                    push(thread, stop.begin, stop.end, Doing::Waiting { kind, object });
                    (time, number) = (stop.begin, stop.number);
                }
            }
        }
        push(thread, trace.thread(thread).map_or(time, |t| t.first.min(time)), time, Doing::Running);
        path.reverse();
        path
    }
}

fn clip(path: Vec<PathSegment>, window: &Window) -> Vec<PathSegment> {
    let stretches = window.stretches();
    let mut inside = Vec::with_capacity(path.len());
    for segment in path {
        let from = stretches.partition_point(|(_, end)| *end < segment.begin);
        for (begin, end) in stretches[from..].iter().take_while(|(begin, _)| *begin <= segment.end) {
            let cut = PathSegment { begin: segment.begin.max(*begin), end: segment.end.min(*end), ..segment };
            if cut.begin < cut.end || segment.begin == segment.end {
                inside.push(cut);
            }
        }
    }
    inside
}
