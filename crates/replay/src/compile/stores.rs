//! Work that threads take from a common store, as a store of the replay: the thread that comes first takes the next item.
//!
//! At a place where threads of one kind take a lock unequally often, each acquisition with all that follows, up to the thread's
//! next one there, is an item. A thread's last acquisition finds nothing, and what follows it is the thread's own. The items of
//! all threads go into one list, in the order in which they were taken; a thread that comes to its first takes from the list until
//! it is empty. Under another lock the items are then shared out as that lock has it, and no thread is left with more than it
//! could do.
//!
//! **It always ends where the recording did.** Items are begun in their recorded order. Were all threads of the store in items
//! that wait for what items not yet begun put down, then the recorded run, when it began the first of these, had as many items
//! under way and a thread more. What a thread puts down after its last acquisition may come later than recorded, as it goes on
//! taking; a store is not made whose items wait for such a thing, be it by way of threads that have no part in the store, or of the
//! leavers of another store (`leavers` says how that is found).
//!
//! Threads that cannot be there at the same time have nothing in common: a store is made for those whose lives overlap. A life
//! lasts until the thread was joined: one that had done all before the next one was started might have met it. Items may hold
//! no lock at their ends, and neither start nor join threads nor meet at a barrier: an item must not depend on the thread that takes it.

mod leavers;

use super::dynamic::{SharingSite, unequal};
use crate::program::{Op, Ops, Store};
use leavers::Leavers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

/// Places where threads share out work, by their numbers; which one an acquisition is at, by its lock and the number of the place in the
/// code.
pub(crate) type Sharing = BTreeMap<(u32, u32), u32>;

/// An acquisition in a thread's steps, at a place where threads share out work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its place in the steps.
    pub(crate) at: usize,
    /// When it was asked for, in ticks.
    pub(crate) time: u64,
    /// See [`Sharing`].
    pub(crate) place: u32,
}

/// A thread on its way to a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) ops: Ops,
    pub(crate) marks: Vec<Mark>,
    /// Steps that other threads' depend on: when, and their places in `ops`.
    pub(crate) syncs: Vec<(u64, usize)>,
    /// From its first event to its last, or to the end of the join that waited for it; in ticks.
    pub(crate) life: (u64, u64),
}

/// What came of the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stores {
    /// Items, by store.
    pub(crate) stores: Vec<Store>,
    /// Acquisitions at unequal places that are replayed as the threads recorded them: no store could be made.
    pub(crate) left: u64,
}

/// Where stores stand in the place of a thread's steps: from its first item to its last acquisition. Steps keep their places until all
/// stores are made.
#[derive(Clone, Debug, Default)]
struct Cuts(Vec<(usize, usize, Op)>);

impl Cuts {
    /// What lies within items goes with them; the last acquisition there is no thread's share.
    fn has(&self, mark: &Mark) -> bool {
        self.0.iter().any(|&(first, last, _)| (first..=last).contains(&mark.at))
    }

    fn touch(&self, from: usize, to: usize) -> bool {
        self.0.iter().any(|&(first, last, _)| first < to && from < last)
    }
}

/// Makes stores, the ones that begin first before those within their items.
pub(crate) fn make(threads: &mut [Steps], mut places: Vec<SharingSite>) -> Stores {
    let first = |place: &SharingSite, threads: &[Steps]| {
        let marks = place.threads.iter().flat_map(|&thread| &threads[thread as usize].marks);
        marks.filter(|mark| mark.place == place.number).map(|mark| mark.time).min()
    };
    places.sort_by_cached_key(|place| (first(place, threads), place.lock, place.site));
    let mut made = Stores::default();
    let mut leavers = Leavers::of(threads, !places.is_empty());
    let mut cuts = vec![Cuts::default(); threads.len()];
    for place in &places {
        for team in teams(place, threads, &cuts) {
            if let Some(items) = store(place, &team, threads, &cuts)
                && leavers.admit(place, &team, threads)
            {
                for &thread in &team {
                    let ends = {
                        let mut own = own(place, &threads[thread], &cuts[thread]).map(|mark| mark.at);
                        own.next().map(|first| (first, own.next_back().unwrap_or(first)))
                    };
                    let share = Op::Share(made.stores.len() as u32);
                    cuts[thread].0.extend(ends.map(|(first, last)| (first, last, share)));
                }
                made.stores.push(items);
            }
        }
    }
    for place in &places {
        let left = place.threads.iter().map(|&thread| thread as usize);
        let left = left.map(|thread| own(place, &threads[thread], &cuts[thread]).count() as u64);
        if unequal(left.clone()) {
            made.left += left.sum::<u64>();
        }
    }
    for (thread, mut cuts) in threads.iter_mut().zip(cuts) {
        cuts.0.sort_unstable_by_key(|&(first, ..)| first);
        thread.ops.replace(&cuts.0);
    }
    made
}

/// A thread's acquisitions at a place that are in no store yet.
fn own<'a>(
    place: &SharingSite,
    thread: &'a Steps,
    cuts: &'a Cuts,
) -> impl DoubleEndedIterator<Item = &'a Mark> + Clone + use<'a> {
    let number = place.number;
    thread.marks.iter().filter(move |mark| mark.place == number && !cuts.has(mark))
}

/// Whether another thread's step can depend on this one, or this one on another thread's, beside through locks.
pub(crate) fn depends(op: Op) -> bool {
    matches!(op, Op::TokenWait(_) | Op::TokenPost(_) | Op::Meet(_) | Op::Spawn(_) | Op::Join(_))
}

/// Threads that come to the place and are there at the same time.
fn teams(place: &SharingSite, threads: &[Steps], cuts: &[Cuts]) -> Vec<Vec<usize>> {
    let comes = |&thread: &usize| own(place, &threads[thread], &cuts[thread]).next().is_some();
    let mut all: Vec<usize> = place.threads.iter().map(|&thread| thread as usize).filter(comes).collect();
    all.sort_by_key(|&thread| threads[thread].life);
    let mut teams: Vec<Vec<usize>> = Vec::new();
    let mut end = 0;
    for thread in all {
        let (from, to) = threads[thread].life;
        match teams.last_mut().filter(|_| from < end) {
            Some(team) => team.push(thread),
            None => teams.push(vec![thread]),
        }
        end = end.max(to);
    }
    teams.retain(|team| team.len() > 1);
    teams
}

/// The items of a team in the order in which they were taken; `None`: they cannot be shared out.
fn store(place: &SharingSite, team: &[usize], threads: &[Steps], cuts: &[Cuts]) -> Option<Store> {
    let items = |&thread: &usize| {
        let marks = own(place, &threads[thread], &cuts[thread]);
        marks.clone().zip(marks.skip(1)).map(move |(mark, next)| (mark.time, thread, mark.at, next.at))
    };
    let bound = |op: Op| matches!(op, Op::Meet(_) | Op::Spawn(_) | Op::Join(_));
    let (mut count, mut steps) = (0, 0);
    for (_, thread, from, to) in team.iter().flat_map(items) {
        if cuts[thread].touch(from, to) || threads[thread].ops.between(from, to).any(bound) {
            return None;
        }
        (count, steps) = (count + 1, steps + to - from);
    }
    let holds = |&thread: &usize| holds_at_any(own(place, &threads[thread], &cuts[thread]), &threads[thread].ops);
    if count == 0 || team.iter().any(holds) {
        return None;
    }
    // Each thread's are in the order of time; of one time, the first thread's come first.
    let mut left: Vec<_> = team.iter().map(|thread| items(thread).peekable()).collect();
    let next = |number: usize, left: &mut [_]| peek(&mut left[number]).map(|time| Reverse((time, number)));
    let mut store = Store::with_room(count, steps);
    let mut heap: BinaryHeap<_> = (0..left.len()).filter_map(|number| next(number, &mut left)).collect();
    while let Some(Reverse((_, number))) = heap.pop() {
        if let Some((_, thread, from, to)) = left[number].next() {
            store.push(threads[thread].ops.between(from, to));
        }
        heap.extend(next(number, &mut left));
    }
    Some(store)
}

/// When the next item was asked for.
fn peek<T>(items: &mut Peekable<impl Iterator<Item = (u64, T, T, T)>>) -> Option<u64> {
    items.peek().map(|item| item.0)
}

/// Whether the thread holds a lock where it comes to one of these; they are in the order of the steps.
fn holds_at_any<'a>(mut marks: impl Iterator<Item = &'a Mark>, ops: &Ops) -> bool {
    let (mut held, mut from) = (0i64, 0);
    marks.any(|mark| {
        held += ops.between(from, mark.at).map(taken).sum::<i64>();
        from = mark.at;
        held != 0
    })
}

/// Locks that a thread holds more after a step than before.
fn taken(op: Op) -> i64 {
    match op {
        Op::Lock(_) | Op::RwLock(..) => 1,
        Op::Unlock(_) | Op::RwUnlock(..) => -1,
        _ => 0,
    }
}
