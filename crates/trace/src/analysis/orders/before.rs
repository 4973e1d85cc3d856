//! Which acts must come before which, whatever the scheduler does: by threads' creations and joins,
//! barriers, and OpenMP's regions. Each thread has a vector clock, with a component for each thread
//! that takes one lock inside of another.

use crate::analysis::objects::ObjectId;
use crate::event::{Address, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::{BTreeMap, BTreeSet};

/// Counts of a vector clock, one for each component.
type Counts = Vec<u32>;

/// Index of a [`Stamp`] in [`Clocks::stamps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StampId(pub(super) u32);

/// A time of one thread, as the counts of what came before it.
pub(super) struct Stamp {
    component: usize,
    counts: Counts,
}

impl Stamp {
    /// Whether acts at this time must come before acts at the time `other`.
    fn is_before(&self, other: &Stamp) -> bool {
        let mine = self.counts.get(self.component).copied().unwrap_or(0);
        other.counts.get(self.component).is_some_and(|seen| *seen >= mine)
    }

    /// Whether acts at the two times can happen in either order.
    pub(super) fn is_beside(&self, other: &Stamp) -> bool {
        !self.is_before(other) && !other.is_before(self)
    }
}

#[derive(Default)]
struct Clock {
    counts: Counts,
    component: Option<usize>,
    /// The stamp of the thread's present time, if one was made.
    stamp: Option<StampId>,
}

/// A round of a barrier: what came before its arrivals, and, once the round is complete, what comes
/// before each departure.
#[derive(Default)]
struct Round {
    arrived: BTreeSet<ThreadIndex>,
    before: Counts,
    leaving: BTreeMap<ThreadIndex, Counts>,
}

/// The clocks of all threads.
#[derive(Default)]
pub(super) struct Clocks {
    threads: Vec<Clock>,
    components: usize,
    pub(super) stamps: Vec<Stamp>,
    creating: BTreeMap<ThreadIndex, (ProcessIndex, Counts)>,
    created: BTreeMap<(ProcessIndex, u64), Counts>,
    /// Threads that started before their creator recorded their handles.
    early: BTreeSet<(ProcessIndex, u64)>,
    ended: BTreeMap<(ProcessIndex, u64), Counts>,
    regions: BTreeMap<(ProcessIndex, Address), Counts>,
    barriers: BTreeMap<ObjectId, Round>,
}

fn join(into: &mut Counts, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(*from));
}

impl Clocks {
    pub(super) fn new(threads: usize) -> Clocks {
        Clocks { threads: (0..threads).map(|_| Clock::default()).collect(), ..Clocks::default() }
    }

    /// Returns the stamp of a thread's present time.
    pub(super) fn stamp(&mut self, thread: ThreadIndex) -> StampId {
        let clock = &mut self.threads[thread.index()];
        if let Some(stamp) = clock.stamp {
            return stamp;
        }
        let component = *clock.component.get_or_insert_with(|| {
            self.components += 1;
            self.components - 1
        });
        if clock.counts.len() <= component {
            clock.counts.resize(component + 1, 0);
        }
        clock.counts[component] = clock.counts[component].max(1);
        let stamp = StampId(self.stamps.len() as u32);
        self.stamps.push(Stamp { component, counts: clock.counts.clone() });
        clock.stamp = Some(stamp);
        stamp
    }

    /// Returns what came before an act by which the thread lets others go on (a creation, an
    /// arrival). From here on the thread's acts are no longer before what that act lets go.
    fn let_go(&mut self, thread: ThreadIndex) -> Counts {
        let clock = &mut self.threads[thread.index()];
        let before = clock.counts.clone();
        if let Some(component) = clock.component {
            clock.counts[component] += 1;
            clock.stamp = None;
        }
        before
    }

    fn follow(&mut self, thread: ThreadIndex, before: &[u32]) {
        let clock = &mut self.threads[thread.index()];
        join(&mut clock.counts, before);
        clock.stamp = None;
    }

    pub(super) fn step(&mut self, thread: ThreadIndex, process: ProcessIndex, what: &What, object: Option<ObjectId>) {
        match *what {
            What::Create { .. } => {
                let before = self.let_go(thread);
                self.creating.insert(thread, (process, before));
            }
            What::Created { handle, .. } => {
                let before = self.creating.remove(&thread);
                if let (false, Some((_, before))) = (self.early.remove(&(process, handle)), before) {
                    self.created.insert((process, handle), before);
                }
            }
            What::ThreadStart { handle } => self.start(thread, (process, handle)),
            What::ThreadEnd { handle } => {
                let before = self.let_go(thread);
                self.ended.insert((process, handle), before);
            }
            What::JoinEnd { handle, error: 0 } => {
                if let Some(before) = self.ended.remove(&(process, handle)) {
                    self.follow(thread, &before);
                }
            }
            What::Fork { region, .. } => {
                let before = self.let_go(thread);
                self.regions.insert((process, region), before);
            }
            What::TeamBegin { region, .. } => {
                if let Some(before) = self.regions.get(&(process, region)).cloned() {
                    self.follow(thread, &before);
                }
            }
            What::BarrierArrive { .. } => {
                let before = self.let_go(thread);
                let round = object.map(|id| self.barriers.entry(id).or_default());
                if let Some(round) = round {
                    round.arrived.insert(thread);
                    join(&mut round.before, &before);
                }
            }
            What::BarrierLeave { .. } => {
                let before = object.and_then(|id| self.barriers.entry(id).or_default().leave(thread));
                if let Some(before) = before {
                    self.follow(thread, &before);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, thread: ThreadIndex, key: (ProcessIndex, u64)) {
        self.ended.remove(&key);
        let before = self.created.remove(&key).or_else(|| {
            // No `Created` has named the thread's handle yet: assumes that the thread is the child
            // of a creation in progress in its process, of which there is mostly one.
            let creating = self.creating.values().find(|(process, _)| *process == key.0)?;
            self.early.insert(key);
            Some(creating.1.clone())
        });
        if let Some(before) = before {
            self.follow(thread, &before);
        }
    }
}

impl Round {
    /// Returns what comes before a thread's departure. The first thread to leave shows that all
    /// threads of the round have arrived.
    fn leave(&mut self, thread: ThreadIndex) -> Option<Counts> {
        if self.arrived.contains(&thread) {
            let before = std::mem::take(&mut self.before);
            for arrived in std::mem::take(&mut self.arrived) {
                self.leaving.insert(arrived, before.clone());
            }
        }
        self.leaving.remove(&thread)
    }
}
