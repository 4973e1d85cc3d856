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
use crate::program::Op;
use baton_trace::Address;
use leavers::Leavers;

/// An acquisition in a thread's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its place in the steps.
    pub(crate) at: usize,
    pub(crate) lock: u32,
    pub(crate) site: Address,
    /// When it was asked for, in ticks.
    pub(crate) time: u64,
}

/// A thread on its way to a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) ops: Vec<Op>,
    pub(crate) marks: Vec<Mark>,
    /// Steps that other threads' depend on: when, and their places in `ops` before any store was made.
    pub(crate) syncs: Vec<(u64, usize)>,
    /// From its first event to its last, or to the end of the join that waited for it; in ticks.
    pub(crate) life: (u64, u64),
}

/// What came of the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stores {
    /// Items, by store.
    pub(crate) stores: Vec<Vec<Vec<Op>>>,
    /// Acquisitions at unequal places that are replayed as the threads recorded them: no store could be made.
    pub(crate) left: u64,
}

/// Makes stores, the ones that begin first before those within their items.
pub(crate) fn make(threads: &mut [Steps], mut places: Vec<SharingSite>) -> Stores {
    let first = |place: &SharingSite, threads: &[Steps]| {
        let marks = place.threads.iter().flat_map(|&thread| &threads[thread as usize].marks);
        marks.filter(|mark| of(mark, place)).map(|mark| mark.time).min()
    };
    places.sort_by_key(|place| (first(place, threads), place.lock, place.site));
    let mut made = Stores::default();
    let mut leavers = Leavers::of(threads, !places.is_empty());
    for place in &places {
        for team in teams(place, threads) {
            if let Some(items) = store(place, &team, threads)
                && leavers.admit(place, &team)
            {
                for &thread in &team {
                    take_out(place, &mut threads[thread], made.stores.len() as u32);
                }
                made.stores.push(items);
            }
        }
    }
    for place in &places {
        let left = place
            .threads
            .iter()
            .map(|&thread| threads[thread as usize].marks.iter().filter(|mark| of(mark, place)).count() as u64);
        if unequal(left.clone()) {
            made.left += left.sum::<u64>();
        }
    }
    made
}

/// Whether another thread's step can depend on this one, or this one on another thread's, beside through locks.
pub(crate) fn depends(op: Op) -> bool {
    matches!(op, Op::TokenWait(_) | Op::TokenPost(_) | Op::Meet(_) | Op::Spawn(_) | Op::Join(_))
}

fn of(mark: &Mark, place: &SharingSite) -> bool {
    (mark.lock, mark.site) == (place.lock, place.site)
}

/// Threads that come to the place and are there at the same time.
fn teams(place: &SharingSite, threads: &[Steps]) -> Vec<Vec<usize>> {
    let comes = |&thread: &usize| threads[thread].marks.iter().any(|mark| of(mark, place));
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
fn store(place: &SharingSite, team: &[usize], threads: &[Steps]) -> Option<Vec<Vec<Op>>> {
    let mut items: Vec<(u64, &[Op])> = Vec::new();
    for &thread in team {
        let Steps { ops, marks, .. } = &threads[thread];
        let cuts: Vec<&Mark> = marks.iter().filter(|mark| of(mark, place)).collect();
        if holds_at_any(&cuts, ops) {
            return None;
        }
        items.extend(cuts.windows(2).map(|cut| (cut[0].time, &ops[cut[0].at..cut[1].at])));
    }
    let own = |op: &Op| matches!(op, Op::Meet(_) | Op::Spawn(_) | Op::Join(_) | Op::Share(_));
    if items.is_empty() || items.iter().any(|(_, ops)| ops.iter().any(own)) {
        return None;
    }
    items.sort_by_key(|item| item.0);
    Some(items.into_iter().map(|(_, ops)| ops.to_vec()).collect())
}

/// Whether the thread holds a lock where it comes to one of these; they are in the order of the steps.
fn holds_at_any(cuts: &[&Mark], ops: &[Op]) -> bool {
    let (mut held, mut from) = (0i64, 0);
    cuts.iter().any(|mark| {
        held += ops[from..mark.at].iter().map(taken).sum::<i64>();
        from = mark.at;
        held != 0
    })
}

/// Locks that a thread holds more after a step than before.
fn taken(op: &Op) -> i64 {
    match op {
        Op::Lock(_) | Op::RwLock(..) => 1,
        Op::Unlock(_) | Op::RwUnlock(..) => -1,
        _ => 0,
    }
}

/// Puts the store in the place of a thread's items.
fn take_out(place: &SharingSite, thread: &mut Steps, store: u32) {
    let cuts = || thread.marks.iter().filter(|mark| of(mark, place)).map(|mark| mark.at);
    let (Some(first), Some(last)) = (cuts().next(), cuts().next_back()) else { return };
    thread.ops.splice(first..last, [Op::Share(store)]);
    // What lies within items went with them; the last acquisition there is no thread's share.
    thread.marks.retain(|mark| mark.at < first || mark.at > last);
    for mark in thread.marks.iter_mut().filter(|mark| mark.at > last) {
        mark.at -= last - first;
        mark.at += 1;
    }
}
