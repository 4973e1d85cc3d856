//! What depends on threads that have left their store. Such a thread may go on taking items in the replay and leave later than
//! recorded; an item that waits for what it does then, on whatever way, could wait for ever.
//!
//! The steps by which threads depend on each other are gone through in the order of the recording. A thread is late from its last
//! acquisition at the store on; what a late thread puts down is late, and so is a thread that has waited for a late one. No item of a
//! store may wait for anything late.

use super::{SharingSite, Steps};
use crate::program::Op;
use std::collections::{BTreeMap, BTreeSet};

/// A step that others depend on, or that depends on others.
struct Sync {
    time: u64,
    thread: usize,
    /// Its place in the thread's steps.
    at: usize,
    op: Op,
}

/// A thread's part in a store: the places of its first and last acquisition.
#[derive(Clone, Copy)]
struct Part {
    thread: usize,
    first: usize,
    last: usize,
}

/// What is known of all threads as they were before any store was made.
pub(super) struct Leavers {
    syncs: Vec<Sync>,
    /// Threads by the meeting that they come to.
    meetings: BTreeMap<u32, BTreeSet<usize>>,
    /// Of the stores made so far.
    parts: Vec<Part>,
}

impl Leavers {
    /// Nothing is gathered where no store can be.
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

    /// Whether a store of this team can be made beside those that were; if so, it counts as made.
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
