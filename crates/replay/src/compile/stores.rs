//! Work that threads take from a common store. The replay has a store, too: the first thread that
//! comes takes the next item.
//!
//! At a place where threads of one kind take a lock unequally often, each acquisition and
//! everything up to the thread's next acquisition there is an item. A thread's last acquisition
//! finds the store empty; what follows it is no item. The items of all threads form one list, in
//! the order in which they were taken. A thread that reaches its first acquisition takes items from
//! the list until the list is empty. Thus the lock of the replay determines how items are shared
//! out, and no thread is left with more items than it has time for.
//!
//! **A replay always ends where the recording did.** Items begin in their recorded order. Suppose
//! that all threads of the store were stuck in items that wait for something which only later items
//! put down. When the recorded run began the first of these later items, the same items were under
//! way, and a further thread began it. But there is no further thread, so that the recorded run
//! would have been stuck as well. What a thread puts down after its last acquisition may come later
//! than recorded, because the thread may take further items. If items wait for what a thread puts
//! down then, the store is not made, whether they wait directly, through threads that have no part
//! in the store, or through threads that left another store (see `leavers`).
//!
//! A store is made for threads whose lives overlap, because other threads share nothing. A thread
//! counts as alive until it was joined: if it did all the work before the next thread started, the
//! two might still have met under another lock. Items must hold no lock at their ends, and must
//! neither start nor join threads, meet at a barrier nor use a queue that another one serves, because an item must not depend on the
//! thread that takes it.

mod leavers;

use super::dynamic::{SharingSite, unequal};
use crate::program::{Op, Ops, Store};
use leavers::Leavers;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;

/// Numbers the places where threads share out work, each given by its lock and its place in the
/// code.
pub(crate) type Sharing = BTreeMap<(u32, u32), u32>;

/// An acquisition at a place where threads share out work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The index of the acquisition among the thread's steps.
    pub(crate) at: usize,
    /// The time, in ticks, at which the thread asked for the lock.
    pub(crate) time: u64,
    /// The number of the place that [`Sharing`] gives.
    pub(crate) place: u32,
}

/// The steps of a thread, before they become a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) ops: Ops,
    pub(crate) marks: Vec<Mark>,
    /// Steps on which other threads depend: their times, and their indices in `ops`.
    pub(crate) syncs: Vec<(u64, usize)>,
    /// When the thread lived, in ticks: from its first event to its last, or to the end of the join
    /// that waited for it.
    pub(crate) life: (u64, u64),
}

/// The stores that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stores {
    /// The items of each store.
    pub(crate) stores: Vec<Store>,
    /// The number of acquisitions at places with unequal shares for which no store was made. They
    /// are replayed as recorded.
    pub(crate) left: u64,
}

/// The parts of a thread's steps that stores replace, each from the thread's first item to its last
/// acquisition. Steps keep their indices until all stores are made.
#[derive(Clone, Debug, Default)]
struct Cuts(Vec<(usize, usize, Op)>);

impl Cuts {
    /// Whether one of the parts contains this acquisition: as the beginning of an item, inside an
    /// item, or as the last acquisition, which begins none.
    fn has(&self, mark: &Mark) -> bool {
        self.0.iter().any(|&(first, last, _)| (first..=last).contains(&mark.at))
    }

    fn touch(&self, from: usize, to: usize) -> bool {
        self.0.iter().any(|&(first, last, _)| first < to && from < last)
    }
}

/// Makes the stores, in the order in which they begin: a store comes before the stores within its
/// items.
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

/// Returns a thread's acquisitions at a place that no store contains yet.
fn own<'a>(
    place: &SharingSite,
    thread: &'a Steps,
    cuts: &'a Cuts,
) -> impl DoubleEndedIterator<Item = &'a Mark> + Clone + use<'a> {
    let number = place.number;
    thread.marks.iter().filter(move |mark| mark.place == number && !cuts.has(mark))
}

/// Whether the step depends on a step of another thread, or the other way round, by other means
/// than a lock.
pub(crate) fn depends(op: Op) -> bool {
    matches!(op, Op::TokenWait(_) | Op::TokenPost(_) | Op::Meet(_) | Op::Spawn(_) | Op::Join(_))
}

/// Returns the groups of threads that come to the place and live at the same time.
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

/// Returns the items of a team in the order in which they were taken; `None` if they cannot be
/// shared out.
fn store(place: &SharingSite, team: &[usize], threads: &[Steps], cuts: &[Cuts]) -> Option<Store> {
    let items = |&thread: &usize| {
        let marks = own(place, &threads[thread], &cuts[thread]);
        marks.clone().zip(marks.skip(1)).map(move |(mark, next)| (mark.time, thread, mark.at, next.at))
    };
    let bound = |op: Op| matches!(op, Op::Meet(_) | Op::Spawn(_) | Op::Join(_) | Op::Put(..) | Op::Take(..));
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
    // Merges the threads' items, each thread's being in the order of time. At equal times, the item
    // of the first thread comes first.
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

/// Returns the time at which the thread asked for the lock before its next item.
fn peek<T>(items: &mut Peekable<impl Iterator<Item = (u64, T, T, T)>>) -> Option<u64> {
    items.peek().map(|item| item.0)
}

/// Whether the thread already holds a lock at any of these acquisitions, which come in the order of
/// the steps.
fn holds_at_any<'a>(mut marks: impl Iterator<Item = &'a Mark>, ops: &Ops) -> bool {
    let (mut held, mut from) = (0i64, 0);
    marks.any(|mark| {
        held += ops.between(from, mark.at).map(taken).sum::<i64>();
        from = mark.at;
        held != 0
    })
}

/// Returns how many more locks a thread holds after a step than before it.
fn taken(op: Op) -> i64 {
    match op {
        Op::Lock(_) | Op::RwLock(..) => 1,
        Op::Unlock(_) | Op::RwUnlock(..) => -1,
        _ => 0,
    }
}
