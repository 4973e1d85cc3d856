//! Answers two questions about a lock: how long would the program have run without the lock's
//! competition overhead, and how long if the lock excluded no thread?
//!
//! # The model
//!
//! The recorded run is a graph: each thread's own work keeps its recorded length; a wait ends when
//! its cause has happened and the recorded hand-off has passed; a lock that was waited for is taken
//! in the recorded order. The graph gets new times:
//!
//! - **without overhead**: this lock's hand-offs take no time. Its critical sections still exclude
//!   each other.
//! - **without exclusion**: no thread waits for this lock. The threads' time in its critical
//!   sections stays as it is.
//!
//! A wait costs nothing if its cause comes before it in the new timing. An acquisition of this lock
//! that did not wait when recorded, but now finds the lock taken, waits for the release and pays no
//! hand-off. An acquisition of *another* lock that did not wait when recorded does not wait now
//! either. The order in which threads would reach that lock is not known, and enforcing the
//! recorded order would turn every uncontended lock into a barrier: a thread that was held up in
//! its first round would still have to follow the other thread's last round.
//!
//! A background thread ([`super::background()`]) ends when its joiner has come: the joiner waits as long
//! as it did when recorded, and the thread's own end does not make the run longer.
//!
//! The model leaves scheduling out: time that a thread was ready without a CPU keeps its length, so
//! on an oversubscribed machine the figures can be too high or too low. With nothing changed, the
//! model gives exactly the recorded length ([`Relaxed::recorded`]); a test checks this.

use super::background::{Background, is_background};
use super::causes::{Carry, Causes, Ended, WaitKind};
use super::objects::{ObjectId, Objects};
use super::regained::Mutexes;
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::trace::Trace;

/// Number of locks that one walk over the trace answers for; more locks need more walks.
const LOCKS_A_WALK: usize = 8;
/// Number of timings: the recorded one, and two for each lock.
const LANES: usize = 1 + 2 * LOCKS_A_WALK;

/// Length of the run as recorded, without one lock's overhead, and without its exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// The lock that the two other lengths leave out.
    pub lock: ObjectId,
    /// The model's length with nothing changed, which is the trace's length.
    pub recorded: Ticks,
    /// Length of the run if this lock's hand-offs took no time.
    pub without_overhead: Ticks,
    /// Length of the run if no thread waited for this lock.
    pub without_exclusion: Ticks,
}

/// Computes the lengths of the run for each of `locks`. Walks over the trace once for every eight
/// locks.
pub fn relax(trace: &Trace, locks: &[ObjectId], background: &[Background]) -> Vec<Relaxed> {
    let mut answers = Vec::with_capacity(locks.len());
    for group in locks.chunks(LOCKS_A_WALK) {
        let mut walk = Walk::new(trace, group, background);
        trace.complete_events().for_each(|event| walk.step(&event));
        let lengths = walk.lengths();
        answers.extend(group.iter().enumerate().map(|(i, lock)| Relaxed {
            lock: *lock,
            recorded: Ticks(lengths[0]),
            without_overhead: Ticks(lengths[1 + 2 * i]),
            without_exclusion: Ticks(lengths[2 + 2 * i]),
        }));
    }
    answers
}

/// A moment in each of the timings: the recorded one, and two for each lock.
#[derive(Clone, Copy)]
struct Lanes([u64; LANES]);

impl Carry for Lanes {
    fn join(&mut self, other: &Lanes) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

impl Lanes {
    fn add(&mut self, length: u64) {
        for lane in &mut self.0 {
            *lane += length;
        }
    }
}

/// How a timing treats the waits for a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    AsRecorded,
    NoOverhead,
    NoExclusion,
}

struct Walk<'a> {
    trace: &'a Trace,
    locks: &'a [ObjectId],
    background: &'a [Background],
    objects: Objects<'a>,
    causes: Causes<Lanes>,
    mutexes: Mutexes<Lanes>,
    /// For each thread, its last event's time as recorded, and the same event's time in each
    /// timing.
    threads: Vec<Option<(Ticks, Lanes)>>,
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, locks: &'a [ObjectId], background: &'a [Background]) -> Walk<'a> {
        let threads = vec![None; trace.threads.len()];
        Walk {
            trace,
            locks,
            background,
            objects: Objects::new(trace),
            causes: Causes::new(),
            mutexes: Mutexes::default(),
            threads,
        }
    }

    fn step(&mut self, event: &Event) {
        if matches!(event.what, What::OffCpu { .. } | What::OnCpu { .. } | What::Cpu { .. } | What::Sample { .. }) {
            // None of these events is an act of the thread: a switch to the CPU in the middle of a
            // wait, for example, is no progress.
            return;
        }
        let process = self.trace.process_of(event.thread);
        let object = self.objects.follow(event, process);
        let state = self.threads[event.thread.index()];
        // A thread's first event has the recorded time in all timings, unless its creation
        // determines it (below).
        let (last, before) = state.unwrap_or((event.time, Lanes([event.time.0; LANES])));
        let own = event.time.since(last).0;
        let mut local = before;
        local.add(own);
        // Whatever the event causes happens at its new time. Only events that end no wait are
        // causes, so their new time is `local`.
        let ended = self.causes.step(event, process, object, || local);
        let regained = self.mutexes.step(event, object, ended.as_ref(), || self.causes.cause(event, local));
        let now = match (ended, regained) {
            (None, _) => local,
            (Some(ended), None) => self.retime(event, &ended, (last, None), before, local),
            // The thread waited for the mutex, and could not do so before the signal.
            (Some(ended), Some(regained)) => {
                let (kind, object, cause) = (WaitKind::Lock, Some(regained.lock), Some(regained.release));
                self.retime(
                    event,
                    &Ended { kind, object, cause, ..ended },
                    (last, Some(regained.signal)),
                    before,
                    local,
                )
            }
        };
        self.threads[event.thread.index()] = Some((event.time, now));
    }

    /// Returns the new time of an event that ends a wait or takes a lock, in each timing. `last` is the
    /// recorded time of the thread's last event; `signal` is the new time of the signal without which a
    /// thread at a condition variable cannot take the mutex again.
    fn retime(
        &self,
        event: &Event,
        ended: &Ended<Lanes>,
        (last, signal): (Ticks, Option<Lanes>),
        before: Lanes,
        local: Lanes,
    ) -> Lanes {
        let Some(cause) = &ended.cause else { return self.without_cause(ended, before, local) };
        if ended.kind == WaitKind::Join && is_background(self.background, cause.thread) {
            return local;
        }
        let mut now = local;
        let handoff = event.time.since(cause.time).0;
        // Time since the thread's last event: if the cause came before that event, the thread
        // itself was late by this time.
        let own = event.time.since(last).0;
        let caused = cause.time >= last || ended.kind == WaitKind::Start;
        for lane in 0..LANES {
            let treatment = self.treatment(lane, ended);
            let cause = cause.carried.0[lane];
            now.0[lane] = match (ended.begin, treatment) {
                // A thread has no time of its own before it starts.
                _ if ended.kind == WaitKind::Start => cause + handoff,
                (None, Treatment::NoExclusion | Treatment::AsRecorded) => local.0[lane],
                (None, Treatment::NoOverhead) => local.0[lane].max(cause),
                (Some(_), Treatment::NoExclusion) => before.0[lane].max(signal.map_or(0, |signal| signal.0[lane])),
                (Some(_), Treatment::NoOverhead) => before.0[lane].max(cause),
                (Some(_), Treatment::AsRecorded) if !caused => before.0[lane].max(cause) + own,
                (Some(_), Treatment::AsRecorded) if cause >= before.0[lane] => cause + handoff,
                (Some(_), Treatment::AsRecorded) => before.0[lane],
            };
        }
        now
    }

    /// Returns the new times of an event whose wait has no cause. If the wait was for a lock, no
    /// thread had released it yet: it was free, and the wait noticed that too late.
    fn without_cause(&self, ended: &Ended<Lanes>, before: Lanes, local: Lanes) -> Lanes {
        let mut now = local;
        if ended.begin.is_some() && !ended.gave_up {
            for lane in (0..LANES).filter(|lane| self.treatment(*lane, ended) != Treatment::AsRecorded) {
                now.0[lane] = before.0[lane];
            }
        }
        now
    }

    fn treatment(&self, lane: usize, ended: &Ended<Lanes>) -> Treatment {
        if lane == 0 || ended.kind != WaitKind::Lock {
            return Treatment::AsRecorded;
        }
        match self.locks.get((lane - 1) / 2) {
            Some(lock) if Some(*lock) == ended.object => {
                if lane % 2 == 1 {
                    Treatment::NoOverhead
                } else {
                    Treatment::NoExclusion
                }
            }
            _ => Treatment::AsRecorded,
        }
    }

    /// Returns the length of the run in each timing: from the trace's first event to the last event
    /// of a thread that is no background thread.
    fn lengths(&self) -> [u64; LANES] {
        let begin = self.trace.span().0.0;
        let mut lengths = [0; LANES];
        let ends = |thread: usize| !is_background(self.background, ThreadIndex(thread as u32));
        let threads = self.threads.iter().enumerate().filter(|(thread, _)| ends(*thread));
        for (_, last) in threads.filter_map(|(_, thread)| thread.as_ref()) {
            for (length, end) in lengths.iter_mut().zip(&last.0) {
                *length = (*length).max(end.saturating_sub(begin));
            }
        }
        lengths
    }
}
