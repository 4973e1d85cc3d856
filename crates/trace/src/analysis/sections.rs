//! The critical sections that the critical path runs through: of each lock, of locks that another
//! thread waited for meanwhile, and inside of other locks' sections.

use super::along::{Along, AlongThreads};
use super::objects::{ObjectId, Objects};
use super::segment::PathSegment;
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::trace::Trace;
use std::collections::BTreeMap;

/// A hold counts as waited for if the first waiter came before the last hundredth of the hold: the
/// end of a long hold may meet a waiter by chance.
const HUNDREDTH: u64 = 100;

/// A thread's hold of a lock.
struct Hold {
    since: Ticks,
    depth: u32,
    /// When the first other thread began to wait for the lock during the hold; the hold's beginning
    /// if a thread was waiting already.
    wanted: Option<Ticks>,
    /// When the first thread was signalled, during the hold, that then waited for the lock.
    signalled: Option<Ticks>,
    /// The other locks that the thread held already when the hold began.
    inside: Vec<ObjectId>,
}

/// Time that the path runs inside a lock's critical sections.
#[derive(Default)]
pub(super) struct Inside {
    pub(super) all: Along,
    /// The part of `all` in holds during which another thread waited for the lock.
    pub(super) wanted: Along,
}

/// Time that the path runs through critical sections.
#[derive(Default)]
pub(super) struct Sections {
    /// Time inside critical sections of any locks; nested sections count once.
    pub(super) any: Along,
    /// The part of `any` in holds during which another thread waited for the lock.
    pub(super) wanted: Along,
    /// Time inside each lock's critical sections. Where sections are nested, the time counts for
    /// each of their locks.
    pub(super) objects: BTreeMap<ObjectId, Inside>,
    /// Time inside the second lock's sections where they lie inside of the first lock's sections.
    pub(super) nested: BTreeMap<(ObjectId, ObjectId), Ticks>,
}

/// A thread that was signalled at a condition variable, and then waited for the mutex.
pub(super) struct Signalled {
    pub(super) since: Ticks,
    pub(super) thread: ThreadIndex,
    pub(super) lock: ObjectId,
}

/// The walk that finds the sections on the path.
struct Walk {
    found: Sections,
    along: AlongThreads,
    /// For each thread, the holds during which another thread waited for the lock.
    wanted: BTreeMap<ThreadIndex, Vec<(Ticks, Ticks)>>,
    holds: BTreeMap<(ObjectId, ThreadIndex), Hold>,
    /// For each thread, the locks that it holds, and since when it has held at least one.
    held: Vec<(Vec<ObjectId>, Ticks)>,
    /// The lock that each thread waits for.
    waits: BTreeMap<ThreadIndex, ObjectId>,
    /// Number of threads that wait for each lock.
    waiters: BTreeMap<ObjectId, u32>,
}

impl Sections {
    /// Finds the sections that the path's parts run through, in one walk over the trace. A hold
    /// without a release lasts to `end`, or to the last event if that is later.
    pub(super) fn of(segments: &[PathSegment], trace: &Trace, end: Ticks, mut signalled: Vec<Signalled>) -> Sections {
        signalled.sort_by_key(|one| (one.since, one.thread));
        let mut signalled = signalled.into_iter().peekable();
        let mut walk = Walk {
            found: Sections::default(),
            along: AlongThreads::of(segments, trace.threads.len()),
            wanted: BTreeMap::new(),
            holds: BTreeMap::new(),
            held: vec![(Vec::new(), Ticks(0)); trace.threads.len()],
            waits: BTreeMap::new(),
            waiters: BTreeMap::new(),
        };
        let mut objects = Objects::new(trace);
        for event in trace.complete_events() {
            while let Some(one) = signalled.next_if(|one| one.since < event.time) {
                walk.signal(&one);
            }
            if let Some(id) = objects.follow(&event, trace.process_of(event.thread)) {
                walk.step(&event, id);
            }
        }
        walk.finish(trace.span().1.max(end));
        walk.found
    }
}

impl Walk {
    fn step(&mut self, event: &Event, id: ObjectId) {
        let (thread, now) = (event.thread, event.time);
        match event.what {
            What::Request { .. } => self.wait(thread, id, now),
            What::Timeout { .. } => self.leave(thread),
            What::Acquire { .. } | What::Acquired { .. } => {
                self.leave(thread);
                self.take(thread, id, now);
            }
            What::Release { .. } => self.give(thread, id, now),
            _ => {}
        }
    }

    fn wait(&mut self, thread: ThreadIndex, id: ObjectId, now: Ticks) {
        self.leave(thread);
        self.waits.insert(thread, id);
        *self.waiters.entry(id).or_default() += 1;
        let all = (id, ThreadIndex(0))..=(id, ThreadIndex(u32::MAX));
        for (_, hold) in self.holds.range_mut(all).filter(|((_, holder), _)| *holder != thread) {
            hold.wanted.get_or_insert(now);
        }
    }

    /// A thread at a condition variable waits for the mutex from now on. What the holder did before it
    /// signalled the thread did not keep that thread waiting.
    fn signal(&mut self, one: &Signalled) {
        self.leave(one.thread);
        self.waits.insert(one.thread, one.lock);
        *self.waiters.entry(one.lock).or_default() += 1;
        let all = (one.lock, ThreadIndex(0))..=(one.lock, ThreadIndex(u32::MAX));
        for (_, hold) in self.holds.range_mut(all) {
            hold.signalled.get_or_insert(one.since);
        }
    }

    fn leave(&mut self, thread: ThreadIndex) {
        if let Some(count) = self.waits.remove(&thread).and_then(|id| self.waiters.get_mut(&id)) {
            *count -= 1;
        }
    }

    fn take(&mut self, thread: ThreadIndex, id: ObjectId, now: Ticks) {
        if let Some(hold) = self.holds.get_mut(&(id, thread)) {
            hold.depth += 1;
            return;
        }
        let wanted = self.waiters.get(&id).filter(|count| **count > 0).map(|_| now);
        let (held, since) = &mut self.held[thread.index()];
        if held.is_empty() {
            *since = now;
        }
        let inside = held.clone();
        held.push(id);
        self.holds.insert((id, thread), Hold { since: now, depth: 1, wanted, signalled: None, inside });
    }

    fn give(&mut self, thread: ThreadIndex, id: ObjectId, now: Ticks) {
        let Some(hold) = self.holds.get_mut(&(id, thread)) else { return };
        hold.depth -= 1;
        if hold.depth > 0 {
            return;
        }
        let hold = self.holds.remove(&(id, thread)).expect("found above");
        self.add_hold(thread, id, &hold, now);
        let (held, since) = &mut self.held[thread.index()];
        held.retain(|other| *other != id);
        if held.is_empty() {
            self.along.add(thread, *since, now, &mut self.found.any);
        }
    }

    fn add_hold(&mut self, thread: ThreadIndex, id: ObjectId, hold: &Hold, now: Ticks) {
        let mut time = Along::default();
        self.along.add(thread, hold.since, now, &mut time);
        if time.all() == Ticks(0) {
            return;
        }
        let share = self.found.objects.entry(id).or_default();
        share.all.merge(&time);
        let length = now.since(hold.since).0;
        let lasts = |since: Option<Ticks>, part| since.is_some_and(|at| now.since(at).0.saturating_mul(part) >= length);
        if lasts(hold.wanted, HUNDREDTH) || lasts(hold.signalled, 2) {
            share.wanted.merge(&time);
            self.wanted.entry(thread).or_default().push((hold.since, now));
        }
        for outer in &hold.inside {
            *self.found.nested.entry((*outer, id)).or_default() += time.all();
        }
    }

    fn finish(&mut self, end: Ticks) {
        for ((id, thread), hold) in std::mem::take(&mut self.holds) {
            self.add_hold(thread, id, &hold, end);
        }
        for (thread, (held, since)) in (0..).map(ThreadIndex).zip(&self.held) {
            if !held.is_empty() {
                self.along.add(thread, *since, end, &mut self.found.any);
            }
        }
        for (thread, mut holds) in std::mem::take(&mut self.wanted) {
            holds.sort_unstable();
            let mut to = Ticks(0);
            for (begin, end) in holds {
                self.along.add(thread, begin.max(to), end.max(to), &mut self.found.wanted);
                to = to.max(end);
            }
        }
    }
}
