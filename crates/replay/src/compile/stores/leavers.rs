//! Finds what depends on threads that have left their store. In the replay a thread may take
//! further items, and so leave the store later than recorded. An item that waits for what the
//! thread does after leaving, directly or through other threads, could then wait for ever.
//!
//! The pass goes through all steps by which threads depend on each other, in the order of the
//! recording. A thread counts as late after its last acquisition at the store. Every token that a
//! late thread puts down is late, and so is a thread that has waited for something late. No item of
//! a store may wait for anything late.

use super::{SharingSite, Steps};
use crate::program::Op;
use std::collections::{BTreeMap, BTreeSet};

/// A step on which other threads depend, or that depends on other threads.
struct Sync {
    time: u64,
    thread: usize,
    /// The index of the step among the thread's steps.
    at: usize,
    op: Op,
}

/// A thread's part in a store: the indices of its first and its last acquisition there.
#[derive(Clone, Copy)]
struct Part {
    thread: usize,
    first: usize,
    last: usize,
}

/// The steps by which threads depend on each other, and the stores that were made.
pub(super) struct Leavers {
    syncs: Vec<Sync>,
    /// For each meeting, the threads that take part in it.
    meetings: BTreeMap<u32, BTreeSet<usize>>,
    /// The threads' parts in the stores that were made so far.
    parts: Vec<Part>,
}

impl Leavers {
    /// Gathers the steps by which threads depend on each other; gathers none if `any` says that no
    /// store is possible.
    pub(super) fn of(threads: &[Steps], any: bool) -> Leavers {
        let (mut syncs, mut meetings) = (Vec::new(), BTreeMap::<u32, BTreeSet<usize>>::new());
        for (thread, steps) in threads.iter().enumerate().filter(|_| any) {
            for &(time, at) in &steps.syncs {
                let op = steps.ops.at(at);
                if let Op::Meet(meeting) = op {
                    meetings.entry(meeting).or_default().insert(thread);
                }
                syncs.push(Sync { time, thread, at, op });
            }
        }
        syncs.sort_by_key(|sync| (sync.time, matches!(sync.op, Op::TokenWait(_) | Op::Join(_)), sync.thread, sync.at));
        Leavers { syncs, meetings, parts: Vec::new() }
    }

    /// Whether a store of this team can be made in addition to the existing stores. If it can,
    /// records the store as made.
    pub(super) fn admit(&mut self, place: &SharingSite, team: &[usize], threads: &[Steps]) -> bool {
        let before = self.parts.len();
        for &thread in team {
            let marks = threads[thread].marks.iter();
            let mut own = marks.filter(|mark| mark.place == place.number).map(|mark| mark.at);
            if let Some(first) = own.next() {
                self.parts.push(Part { thread, first, last: own.next_back().unwrap_or(first) });
            }
        }
        let fits = self.no_item_waits_for_a_leaver(threads.len());
        if !fits {
            self.parts.truncate(before);
        }
        fits
    }

    fn no_item_waits_for_a_leaver(&self, threads: usize) -> bool {
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); threads];
        for part in &self.parts {
            parts[part.thread].push(*part);
        }
        let (mut late, mut tokens) = (vec![false; threads], BTreeSet::new());
        for &Sync { thread, at, op, .. } in &self.syncs {
            late[thread] |= parts[thread].iter().any(|part| at > part.last);
            let in_item = parts[thread].iter().any(|part| (part.first..part.last).contains(&at));
            let waits_for_late = match op {
                Op::TokenWait(token) => tokens.contains(&token),
                Op::Join(child) => late[child as usize],
                Op::Meet(meeting) => self.meetings[&meeting].iter().any(|&other| late[other]),
                _ => false,
            };
            if waits_for_late && in_item {
                return false;
            }
            late[thread] |= waits_for_late;
            match op {
                Op::TokenPost(token) if late[thread] => drop(tokens.insert(token)),
                Op::Spawn(child) if late[thread] => late[child as usize] = true,
                _ => {}
            }
        }
        true
    }
}
