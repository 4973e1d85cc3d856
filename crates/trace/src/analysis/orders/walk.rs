//! The walk that finds locks which threads take while they hold others.

use super::before::{Clocks, Stamp, StampId};
use crate::analysis::objects::{ObjectId, Objects};
use crate::event::{Event, Mode, SiteId, ThreadIndex, What};
use crate::trace::Trace;
use std::collections::BTreeMap;

/// Most stamps that are kept of an edge. Each stands for the time between two acts that order its
/// thread with others.
const TIMES_KEPT: usize = 64;

/// All orders of two locks that threads have taken, as edges.
pub(super) struct Nestings {
    pub(super) edges: Vec<(Key, Edge)>,
    pub(super) stamps: Vec<Stamp>,
}

/// A thread takes the lock `wanted` while it holds the lock `held`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) thread: ThreadIndex,
    pub(super) held: (ObjectId, Mode),
    pub(super) wanted: (ObjectId, Mode),
    /// All locks that the thread holds, `held` among them.
    pub(super) all: Vec<(ObjectId, Mode)>,
}

#[derive(Default)]
pub(super) struct Edge {
    pub(super) sites: (SiteId, SiteId),
    pub(super) times: u64,
    pub(super) stamps: Vec<StampId>,
}

#[derive(Clone, Copy)]
struct Held {
    object: ObjectId,
    mode: Mode,
    site: SiteId,
    depth: u32,
}

/// An acquisition, or the beginning of a wait, that may still turn out to be a try or to have a
/// deadline.
#[derive(Clone, Copy)]
struct Pending {
    object: ObjectId,
    mode: Mode,
    site: SiteId,
    /// Number of locks that the thread held before this acquisition.
    held: usize,
}

#[derive(Default)]
struct Thread {
    held: Vec<Held>,
    pending: Option<Pending>,
    /// The call site of the wait in progress.
    waits_at: SiteId,
}

struct Walk {
    threads: Vec<Thread>,
    clocks: Clocks,
    edges: BTreeMap<Key, Edge>,
}

pub(super) fn nestings(trace: &Trace) -> Nestings {
    let threads = trace.threads.iter().map(|_| Thread::default()).collect();
    let mut walk = Walk { threads, clocks: Clocks::new(trace.threads.len()), edges: BTreeMap::new() };
    let mut objects = Objects::new(trace);
    for event in trace.complete_events() {
        let process = trace.process_of(event.thread);
        let object = objects.follow(&event, process);
        walk.settle(event.thread, &event.what);
        walk.clocks.step(event.thread, process, &event.what, object);
        match object {
            Some(id) => walk.step(&event, id),
            None if matches!(event.what, What::ThreadEnd { .. }) => walk.threads[event.thread.index()].held.clear(),
            None => {}
        }
    }
    for thread in 0..walk.threads.len() {
        walk.commit(ThreadIndex(thread as u32));
    }
    Nestings { edges: walk.edges.into_iter().collect(), stamps: walk.clocks.stamps }
}

impl Walk {
    /// Decides about a pending acquisition by the thread's next event: `Bounded` says that it was a
    /// try or has a deadline, and drops it; an act of the program confirms it.
    fn settle(&mut self, thread: ThreadIndex, what: &What) {
        let state = &mut self.threads[thread.index()];
        if state.pending.is_none() {
            return;
        }
        match what {
            What::Bounded { .. } => state.pending = None,
            what if what.is_act() => self.commit(thread),
            _ => {}
        }
    }

    /// Records the orders of locks that a pending acquisition shows.
    fn commit(&mut self, thread: ThreadIndex) {
        let state = &mut self.threads[thread.index()];
        let Some(Pending { object, mode, site, held }) = state.pending.take() else { return };
        let before = &state.held[..held.min(state.held.len())];
        let all: Vec<_> = before.iter().map(|held| (held.object, held.mode)).collect();
        for outer in before {
            let key = Key { thread, held: (outer.object, outer.mode), wanted: (object, mode), all: all.clone() };
            let first = || Edge { sites: (outer.site, site), ..Edge::default() };
            let edge = self.edges.entry(key).or_insert_with(first);
            edge.times += 1;
            if edge.stamps.len() < TIMES_KEPT {
                let stamp = self.clocks.stamp(thread);
                if edge.stamps.last() != Some(&stamp) {
                    edge.stamps.push(stamp);
                }
            }
        }
    }

    fn step(&mut self, event: &Event, object: ObjectId) {
        let state = &mut self.threads[event.thread.index()];
        match event.what {
            What::Acquire { mode, site, .. } => {
                state.want(object, mode, site);
                state.take(object, mode, site);
            }
            What::Request { mode, site, .. } => {
                state.waits_at = site;
                state.want(object, mode, site);
            }
            What::Acquired { mode, .. } => state.take(object, mode, state.waits_at),
            What::Release { .. } => self.release(event.thread, object),
            _ => {}
        }
    }

    fn release(&mut self, thread: ThreadIndex, object: ObjectId) {
        if !self.threads[thread.index()].give(object) {
            // A thread may release a lock that another thread took.
            self.threads.iter_mut().any(|other| other.give(object));
        }
    }
}

impl Thread {
    /// Notes that the thread begins to take a lock, if it holds other locks and does not hold this
    /// one.
    fn want(&mut self, object: ObjectId, mode: Mode, site: SiteId) {
        let held = self.held.len();
        if held > 0 && self.held.iter().all(|held| held.object != object) {
            self.pending = Some(Pending { object, mode, site, held });
        }
    }

    fn take(&mut self, object: ObjectId, mode: Mode, site: SiteId) {
        match self.held.iter_mut().find(|held| held.object == object) {
            Some(held) => held.depth += 1,
            None => self.held.push(Held { object, mode, site, depth: 1 }),
        }
    }

    /// Ends the thread's latest acquisition of a lock. Returns false if the thread does not hold
    /// it.
    fn give(&mut self, object: ObjectId) -> bool {
        let Some(at) = self.held.iter().rposition(|held| held.object == object) else { return false };
        self.held[at].depth -= 1;
        if self.held[at].depth == 0 {
            self.held.remove(at);
        }
        true
    }
}
