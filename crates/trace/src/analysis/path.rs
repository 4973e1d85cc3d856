//! The critical path: the chain of work and hand-offs that determines the length of the run.
//!
//! The chain is followed backwards from the last event: along a thread while it runs; at a wait
//! that another thread ended, over to the other thread at the moment of the cause (for example a
//! release, a signal, a last arrival or a thread's creation). The time between the cause and the
//! end of the wait is the hand-off, which is charged to the object. If a wait has no such cause, or
//! its cause lies before the wait, the chain stays on the waiting thread.
//!
//! The end of a background thread ([`super::background()`]) is no cause: the path stays with the thread
//! that joined it. Where another thread waited for a lock that a background thread held, or at a queue
//! for a background thread, the path lies in that thread for as long as the wait lasted, and goes on in
//! the thread that waited. The chain begins at the end of the thread that ended the program: the thread
//! that left the process with the last event ([`What::Exit`]). Older traces lack that event: there it is
//! the first thread of that process, if no other thread of the process ended after it. If a signal ended
//! the process, or the thread that ended it only slept while others worked, the chain begins with a thread
//! that was at work then (`exits`).
//!
//! A series of sleeps that lasted until other threads had ended ([`super::sleepers()`]) is a wait for
//! the last of these ends. Processes that the trace has besides the first are connected by forks and
//! by waits for children (`kin`).
//!
//! Along a thread that does not wait for anything the trace shows, time off its CPU
//! ([`super::off_cpu()`]) is separated from running: ready without a CPU, or blocked by something
//! that the trace does not show (pipes, files, sleeping).

use super::along::{Along, tell_apart};
use super::awaited::Awaited;
use super::background::{Background, background, is_background};
use super::beside::Beside;
use super::causes::{Causes, WaitKind};
use super::exits::exits;
use super::kin::{Kin, KinWait};
use super::loops::Loops;
use super::objects::{ObjectId, Objects};
use super::off_cpu::{ThreadOffCpu, off_cpu};
use super::regained::Mutexes;
use super::sections::{Sections, Signalled};
use super::segment::{Doing, PathSegment};
use super::sleepers::{Sleeper, Sleepers};
use super::vain::Vain;
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The critical path, and each object's share of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The parts of the path in the order of time, without gaps inside the window.
    pub segments: Vec<PathSegment>,
    /// Share of each object.
    pub objects: BTreeMap<ObjectId, PathShare>,
    /// Time inside critical sections of any locks; nested sections count once.
    pub sections: Along,
    /// The part of `sections` in holds during which another thread waited for the lock.
    pub wanted: Along,
    /// For a lock, and another lock that threads took while they held the first: the time that the
    /// path runs inside the second lock's sections there.
    pub nested: BTreeMap<(ObjectId, ObjectId), Ticks>,
    /// Places where the path's thread was blocked in a call while other threads were at work, or waited
    /// in a loop: what it waited for is not known. The path has this time as
    /// [`OffCpu::Blocked`](super::OffCpu::Blocked). The place with the most time comes first.
    pub beside: Vec<Beside>,
}

/// An object's share of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathShare {
    /// Time that the path runs inside this lock's critical sections. Where sections are nested, the
    /// time counts for each of their locks.
    pub sections: Along,
    /// The part of `sections` in holds during which another thread waited for the lock.
    pub wanted: Along,
    /// Time of the object's hand-offs.
    pub handoffs: Ticks,
    /// Number of the object's hand-offs.
    pub hops: u64,
    /// Time of the object's waits that no other thread's act explains.
    pub waiting: Ticks,
    /// Time of [`Doing::Awaited`].
    pub awaited: Ticks,
    /// Time of [`Doing::Vain`].
    pub vain: Ticks,
}

/// For each process, the end of the thread that ended it. Where no thread says that it ended the
/// process, that is the first thread; a first thread that other threads outlive is left out.
#[derive(Default)]
struct Exits {
    said: BTreeMap<ProcessIndex, (ThreadIndex, Ticks, u64)>,
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
        self.said.get(&process).or_else(|| self.ends.get(&process)).copied()
    }
}

/// A wait that ended, with the event that caused its end.
struct Stop {
    number: u64,
    begin: Ticks,
    end: Ticks,
    kind: WaitKind,
    object: Option<ObjectId>,
    cause: Option<(ThreadIndex, Ticks, u64)>,
}

impl CriticalPath {
    /// Finds the path through the complete part of the trace, and returns the part of the path
    /// inside the window. Does not mark threads that are awake in vain.
    pub fn of(trace: &Trace, window: &Window) -> CriticalPath {
        CriticalPath::with(trace, window, &off_cpu(trace), &background(trace), &Vain::default())
    }

    /// Like [`CriticalPath::of`], for a caller that has already found the threads' times off their
    /// CPUs, the background threads, and when threads were awake in vain.
    pub fn with(
        trace: &Trace,
        window: &Window,
        off: &[ThreadOffCpu],
        background: &[Background],
        vain: &Vain,
    ) -> CriticalPath {
        CriticalPath::from(Stops::of(trace, background, window.end(), Kin::of(trace)), trace, window, off, vain)
    }

    /// Like [`CriticalPath::with`], but the path does not go from one process to another.
    pub(super) fn without_kin(
        trace: &Trace,
        window: &Window,
        off: &[ThreadOffCpu],
        background: &[Background],
    ) -> CriticalPath {
        let stops = Stops::of(trace, background, window.end(), Kin::default());
        CriticalPath::from(stops, trace, window, off, &Vain::default())
    }

    fn from(mut stops: Stops, trace: &Trace, window: &Window, off: &[ThreadOffCpu], vain: &Vain) -> CriticalPath {
        let along = tell_apart(stops.walk_back(trace), off);
        stops.awaited.settle();
        let mut segments = vain.mark(clip(stops.awaited.mark(along), window));
        let mut beside = stops.loops.mark(&mut segments, trace);
        beside.extend(Beside::mark(&mut segments, trace, off));
        beside.sort_by_key(|one| (Reverse(one.time), one.process, one.site));
        let mut path = CriticalPath { segments, beside, ..CriticalPath::default() };
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
                Doing::Vain { object } => path.objects.entry(object).or_default().vain += length,
                _ => {}
            }
        }
        let found = Sections::of(&path.segments, trace, window.end(), stops.signalled);
        for (object, inside) in found.objects {
            let share = path.objects.entry(object).or_default();
            (share.sections, share.wanted) = (inside.all, inside.wanted);
        }
        (path.sections, path.wanted, path.nested) = (found.any, found.wanted, found.nested);
        path.objects.retain(|_, share| *share != PathShare::default());
        path
    }

    /// Sums the lengths of all parts that `what` accepts.
    pub fn time(&self, what: impl Fn(&Doing) -> bool) -> Ticks {
        self.segments.iter().filter(|s| what(&s.doing)).map(|s| s.end.since(s.begin)).sum()
    }
}

/// All waits of each thread, and where the path ends: thread, time, and number of the event that
/// ended the run.
struct Stops {
    threads: Vec<Vec<Stop>>,
    /// The background threads.
    aside: BTreeSet<ThreadIndex>,
    last: Option<(ThreadIndex, Ticks, u64)>,
    awaited: Awaited,
    loops: Loops,
    /// The waits at condition variables that were waits for the mutex from the signal on.
    signalled: Vec<Signalled>,
}

impl Stops {
    /// Collects the waits up to `end`. If `end` lies after the last event, the run ends at `end`,
    /// with threads that wait.
    fn of(trace: &Trace, background: &[Background], end: Ticks, mut kin: Kin) -> Stops {
        let threads = trace.threads.iter().map(|_| Vec::new()).collect();
        let aside = background.iter().map(|one| one.thread).collect();
        let (awaited, loops, signalled) = (Awaited::default(), Loops::of(trace), Vec::new());
        let mut stops = Stops { threads, aside, last: None, awaited, loops, signalled };
        let mut mutexes = Mutexes::default();
        let (mut exits, left) = (Exits::default(), exits(trace));
        let mut objects = Objects::new(trace);
        let mut causes = Causes::new();
        let mut lives = vec![(0, false); trace.threads.len()];
        let (mut sleepers, mut latest) = (Sleepers::of(trace), Ticks(0));
        for event in trace.complete_events() {
            let process = trace.process_of(event.thread);
            let object = objects.follow(&event, process);
            let ended = causes.step(&event, process, object, || ());
            let (thread, time, number) = (event.thread, event.time, causes.number());
            let regained = mutexes.step(&event, object, ended.as_ref(), || causes.cause(&event, ()));
            sleepers.step(&event, process, number);
            stops.loops.step(&event);
            stops.awaited.step(&event, process, object);
            if let Some(wait) = kin.step(&event, process, number) {
                stops.add(&event, number, wait);
            }
            if !is_background(background, thread) || stops.last.is_none() {
                stops.last = Some((thread, time, number));
            }
            exits.step(&event, process, causes.number());
            if let Some(exit) = left.get(&process).filter(|exit| exit.is(&event)) {
                let from = stops.carry(&among(&exit.working, &lives), &mut causes, time);
                exits.said.insert(process, from.unwrap_or((thread, time, number)));
            }
            let life = &mut lives[event.thread.index()];
            let out = matches!(event.what, What::ThreadEnd { .. }) || is_background(background, event.thread);
            *life = (causes.number(), life.1 || out);
            latest = event.time;
            let Some(ended) = ended else { continue };
            let Some(begin) = ended.begin else { continue };
            if let Some(regained) = regained {
                let (release, lock) = (regained.release, regained.lock);
                stops.signalled.push(Signalled { since: regained.signalled, thread, lock });
                let cause = Some((release.thread, release.time, release.number));
                let (kind, object) = (WaitKind::Lock, Some(lock));
                stops.threads[thread.index()].push(Stop { number, begin, end: time, kind, object, cause });
                continue;
            }
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
        stops.slept(&sleepers.finish());
        let exit = stops.last.and_then(|(last, ..)| exits.of(trace.process_of(last)));
        match stops.last {
            last if latest < end && exit.is_none() => stops.last = stops.carry(&lives, &mut causes, end).or(last),
            last => stops.last = exit.or(last),
        }
        stops
    }

    /// Adds the wait of one process for another, which `event` ends.
    fn add(&mut self, event: &Event, number: u64, wait: KinWait) {
        let KinWait { kind, begin, cause } = wait;
        let cause = Some((cause.thread, cause.time, cause.number));
        self.threads[event.thread.index()].push(Stop { number, begin, end: event.time, kind, object: None, cause });
    }

    /// Adds series of sleeps, each as a wait for the last thread that ended in it.
    fn slept(&mut self, sleepers: &[Sleeper]) {
        for sleeper in sleepers {
            let (Some(&end), number, begin) = (sleeper.turns.last(), sleeper.number, sleeper.begin) else { continue };
            let cause = sleeper.ended.last().map(|thread| (*thread, sleeper.last.0, sleeper.last.1));
            let stop = Stop { number, begin, end, kind: WaitKind::Join, object: None, cause };
            self.threads[sleeper.thread.index()].push(stop);
        }
        self.threads.iter_mut().for_each(|waits| waits.sort_by_key(|stop| stop.number));
    }

    /// Returns where a path ends that ends at `end`: in the thread that acted last among those that wait
    /// for nothing, or, if all wait, in the one that began to wait last. `lives` has the number of each
    /// thread's last event, and whether the thread has ended or is a background thread.
    fn carry(
        &mut self,
        lives: &[(u64, bool)],
        causes: &mut Causes<()>,
        end: Ticks,
    ) -> Option<(ThreadIndex, Ticks, u64)> {
        let number = causes.number();
        let living = (0..).map(ThreadIndex).zip(lives).filter(|(_, (last, ended))| *last > 0 && !ended);
        let living: Vec<_> = living.map(|(thread, (last, _))| (thread, *last, causes.innermost(thread))).collect();
        let free = living.iter().filter(|(.., wait)| wait.is_none()).max_by_key(|(_, last, _)| *last);
        if let Some((thread, ..)) = free {
            return Some((*thread, end, number));
        }
        let waits = living.into_iter().filter_map(|(thread, _, wait)| Some((thread, wait?)));
        let (thread, (kind, begun)) = waits.max_by_key(|(_, (_, begun))| begun.time)?;
        let (begin, object) = (begun.time, begun.object);
        self.threads[thread.index()].push(Stop { number, begin, end, kind, object, cause: None });
        Some((thread, end, number))
    }

    /// Follows the chain from the last event to the first. If a wait for a lock or at a queue leads into a
    /// background thread, the chain lies there for as long as that wait lasted: what the background thread did
    /// before the wait delayed no other thread.
    fn walk_back(&self, trace: &Trace) -> Vec<PathSegment> {
        let Some((mut thread, mut time, number)) = self.last else { return Vec::new() };
        let mut path = Vec::new();
        let mut number = number + 1;
        let mut push = |thread, begin: Ticks, end: Ticks, doing| {
            if begin < end || matches!(doing, Doing::HandOff { .. }) {
                path.push(PathSegment { thread, begin, end, doing });
            }
        };
        // The thread whose wait led the chain into a background thread, when that wait began, and
        // the number of the event that ended it.
        let mut waiter: Option<(ThreadIndex, Ticks, u64)> = None;
        loop {
            let mine = &self.threads[thread.index()];
            let before = &mine[..mine.partition_point(|s| s.number < number)];
            // Skips waits that seem to end later: they belong to a signal handler that ran inside
            // the wait which the path has just left.
            let stop = before.iter().rev().find(|s| s.end <= time);
            let since = waiter.map_or(Ticks(0), |(_, since, _)| since);
            if let Some(back) = waiter.take_if(|_| stop.is_none_or(|stop| stop.end <= since)) {
                push(thread, since, time, Doing::Running);
                (thread, time, number) = back;
                continue;
            }
            let Some(stop) = stop else { break };
            push(thread, stop.end, time, Doing::Running);
            let (kind, object) = (stop.kind, stop.object);
            let (to, doing) = match stop.cause {
                Some(cause) => (cause, Doing::HandOff { kind, object }),
                None => ((thread, stop.begin, stop.number), Doing::Waiting { kind, object }),
            };
            push(thread, to.1.max(since), stop.end, doing);
            if let Some(back) = waiter.take_if(|_| to.1 <= since) {
                (thread, time, number) = back;
                continue;
            }
            if !self.aside.contains(&to.0) {
                waiter = None;
            } else if is_brief(kind) && !self.aside.contains(&thread) {
                waiter = Some((thread, stop.begin, stop.number));
            }
            (thread, time, number) = to;
        }
        push(thread, trace.thread(thread).map_or(time, |t| t.first.min(time)), time, Doing::Running);
        path.reverse();
        path
    }
}

/// Whether a wait of this kind for a background thread delays the waiter by its own length only.
fn is_brief(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Lock | WaitKind::Item | WaitKind::Room)
}

/// Returns the threads' lives, with all threads but these left out.
fn among(threads: &[ThreadIndex], lives: &[(u64, bool)]) -> Vec<(u64, bool)> {
    let out = |thread: u32, out: bool| out || !threads.contains(&ThreadIndex(thread));
    (0..).zip(lives).map(|(thread, (last, life))| (*last, out(thread, *life))).collect()
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
