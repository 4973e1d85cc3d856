//! Holds in which a thread waits for other threads.
//!
//! In a replay, the lock itself decides which thread gets it first. That is safe as long as the
//! holder needs no other thread, because then the holder will release the lock. A thread that waits
//! for a token, a barrier or another thread's end while it holds a lock needs other threads to act.
//! They may first need the lock themselves, which they had earlier in the recording; the replay
//! would then end in a deadlock that the program does not have. Such a hold therefore waits until
//! all acquisitions that came before it in the recording have been made.
//!
//! Two more kinds of holds wait in the same way: holds of locks that the program takes in both
//! orders, which it can do with tries (a try that succeeded is replayed as an acquisition), and
//! holds that never end.
//!
//! **Why no deadlock is left.** Consider all steps at which threads of a replay are stuck for ever,
//! and among them the step that the recording did first. If this step waits for a token, the thread
//! that puts the token down is stuck at an earlier step, which contradicts the choice. So the step
//! waits for a lock, and the lock's holder came later in the recording. That hold does not need
//! other threads, otherwise it would have waited. So the holder is stuck at a second lock, which
//! also has such a holder, and the second lock is in no circle with the first. Going from holder to
//! holder in this way ends at a thread that is not stuck.

use super::held::{Held, given, needs_others, taken};
use super::thread::RawThread;
use super::tokens::Tokens;
use super::track::Raw;
use crate::ops::push;
use crate::program::Op;
use std::collections::{BTreeMap, BTreeSet};

/// A hold of a thread, as far as the pass has read the thread's steps.
struct Hold {
    of: Held,
    /// The index of the acquisition among the thread's steps.
    at: usize,
    /// The time of the acquisition: the beginning of the gap after it.
    time: Option<u64>,
    needs_others: bool,
    inner: BTreeSet<Held>,
}

/// Passes over a thread's holds, and calls `told` for each when the hold has ended and its time is
/// known. The second argument of `told` says whether the hold did end.
fn holds(thread: &RawThread, mut told: impl FnMut(&Hold, bool)) {
    let (mut open, mut timeless): (Vec<Hold>, Vec<Hold>) = (Vec::new(), Vec::new());
    for (at, step) in thread.track.iter().enumerate() {
        let op = match step {
            Raw::Op(op) => op,
            Raw::Gap(gap) => {
                let fresh = open.iter_mut().rev().take_while(|hold| hold.time.is_none());
                fresh.chain(&mut timeless).for_each(|hold| hold.time = Some(gap.from));
                timeless.drain(..).for_each(|hold| told(&hold, true));
                continue;
            }
            _ => continue,
        };
        if needs_others(op) {
            open.iter_mut().for_each(|hold| hold.needs_others = true);
        } else if let Some(of) = taken(op) {
            for hold in &mut open {
                hold.inner.insert(of);
            }
            open.push(Hold { of, at, time: None, needs_others: false, inner: BTreeSet::new() });
        } else if let Some(place) = given(op).and_then(|of| open.iter().rposition(|hold| hold.of == of)) {
            let hold = open.remove(place);
            match hold.time {
                Some(_) => told(&hold, true),
                None => timeless.push(hold),
            }
        }
    }
    for (hold, ended) in timeless.into_iter().map(|hold| (hold, true)).chain(open.into_iter().map(|hold| (hold, false)))
    {
        told(&Hold { time: hold.time.or(Some(thread.last)), ..hold }, ended);
    }
}

/// The locks of which a holder may need other threads.
struct Needy {
    /// Locks of which a holder needs other threads directly, or through a lock that it takes
    /// meanwhile.
    locks: BTreeSet<Held>,
    /// The locks that lie in a circle, each with the circle's number.
    circles: BTreeMap<Held, usize>,
}

impl Needy {
    fn of(threads: &[RawThread]) -> Needy {
        let mut inner: BTreeMap<Held, BTreeSet<Held>> = BTreeMap::new();
        let mut locks = BTreeSet::new();
        for thread in threads {
            holds(thread, |hold, ended| {
                if hold.needs_others || !ended {
                    locks.insert(hold.of);
                }
                if !hold.inner.is_empty() {
                    inner.entry(hold.of).or_default().extend(&hold.inner);
                }
            });
        }
        let circles = circles(&inner);
        for (lock, inside) in &inner {
            if inside.iter().any(|other| circles.contains_key(lock) && circles.get(lock) == circles.get(other)) {
                locks.insert(*lock);
            }
        }
        loop {
            let before = locks.len();
            for (lock, inside) in &inner {
                if inside.iter().any(|other| locks.contains(other)) {
                    locks.insert(*lock);
                }
            }
            if locks.len() == before {
                return Needy { locks, circles };
            }
        }
    }

    fn is(&self, hold: &Hold, ended: bool) -> bool {
        let circle = self.circles.get(&hold.of);
        let through = |other: &Held| {
            self.locks.contains(other) || circle.is_some_and(|circle| self.circles.get(other) == Some(circle))
        };
        hold.needs_others || !ended || hold.inner.iter().any(through)
    }
}

/// Finds the circles of locks. From each lock of a circle each other one can be reached by going from
/// a lock to one that a thread takes while it holds it; a semaphore of which a thread takes a unit
/// while it holds another is a circle of its own. Returns the circle's number for each such lock.
fn circles(inner: &BTreeMap<Held, BTreeSet<Held>>) -> BTreeMap<Held, usize> {
    // Kosaraju's algorithm: a first search orders the locks by when it leaves them, a second one
    // follows the edges backwards.
    let mut outer: BTreeMap<Held, Vec<Held>> = BTreeMap::new();
    for (&lock, inside) in inner {
        for &other in inside {
            outer.entry(other).or_default().push(lock);
        }
    }
    let (mut left, mut seen) = (Vec::new(), BTreeSet::new());
    for &root in inner.keys() {
        let mut stack = vec![(root, false)];
        while let Some((lock, done)) = stack.pop() {
            if done {
                left.push(lock);
            } else if seen.insert(lock) {
                stack.push((lock, true));
                stack.extend(inner.get(&lock).into_iter().flatten().map(|&other| (other, false)));
            }
        }
    }
    let (mut number, mut placed) = (BTreeMap::new(), BTreeSet::new());
    for (circle, &root) in left.iter().rev().enumerate() {
        let mut members = Vec::new();
        let mut stack = vec![root];
        while let Some(lock) = stack.pop() {
            if placed.insert(lock) {
                members.push(lock);
                stack.extend(outer.get(&lock).into_iter().flatten());
            }
        }
        // A circle of one lock counts only for semaphores: a thread may hold a reader-writer lock
        // twice as a reader, but threads that each hold one unit of a semaphore can all wait for
        // another unit.
        let own = |lock: &Held| matches!(lock, Held::Semaphore(_)) && inner.get(lock).is_some_and(|i| i.contains(lock));
        if members.len() > 1 || members.iter().any(own) {
            number.extend(members.into_iter().map(|lock| (lock, circle)));
        }
    }
    number
}

/// An acquisition of a lock of which some holder may need other threads.
struct Taken {
    time: u64,
    at: usize,
    thread: u32,
    needy: bool,
}

/// A step to insert before an index: it puts a token down, or waits for one.
struct New {
    at: usize,
    token: u32,
    waits: bool,
}

/// Makes each hold that needs other threads wait until the acquisitions of its lock that came
/// before it have been made.
pub(crate) fn constrain(threads: &mut [RawThread], tokens: &mut Tokens) {
    if threads.iter().all(|thread| thread.track.outline().one_at_a_time()) {
        debug_assert!(Needy::of(threads).locks.is_empty(), "no hold has anything in it");
        return;
    }
    let needy = Needy::of(threads);
    if needy.locks.is_empty() {
        return;
    }
    let mut taken: BTreeMap<Held, Vec<Taken>> = BTreeMap::new();
    for (number, thread) in (0..).zip(threads.iter()) {
        holds(thread, |hold, ended| {
            if needy.locks.contains(&hold.of) {
                let needy = needy.is(hold, ended);
                let entry = Taken { time: hold.time.unwrap_or(thread.last), at: hold.at, thread: number, needy };
                push(taken.entry(hold.of).or_default(), entry);
            }
        });
    }
    let mut new: Vec<Vec<New>> = threads.iter().map(|_| Vec::new()).collect();
    for (_, mut all) in taken {
        all.sort_unstable_by_key(|one| (one.time, one.thread, one.at));
        let mut since: BTreeMap<u32, usize> = BTreeMap::new();
        for one in all {
            if one.needy {
                for (&other, &at) in since.iter().filter(|(other, _)| **other != one.thread) {
                    let token = tokens.fresh();
                    push(&mut new[other as usize], New { at: at + 1, token, waits: false });
                    push(&mut new[one.thread as usize], New { at: one.at, token, waits: true });
                }
                since.clear();
            }
            since.insert(one.thread, one.at);
        }
    }
    for (thread, mut new) in threads.iter_mut().zip(new) {
        // If two steps go before the same index, a thread must put its token down before it waits
        // for another.
        new.sort_unstable_by_key(|new| (new.at, new.waits, new.token));
        thread.insert(new);
    }
}

impl RawThread {
    /// Inserts steps; the indices before which they go ascend.
    fn insert(&mut self, new: Vec<New>) {
        if new.is_empty() {
            return;
        }
        let op = |new: New| Raw::Op(if new.waits { Op::TokenWait(new.token) } else { Op::TokenPost(new.token) });
        let mut new = new.into_iter().peekable();
        self.track.rewrite(|place, step, track| {
            while let Some(new) = new.next_if(|new| new.at <= place) {
                track.push(op(new));
            }
            track.push(step);
        });
        new.for_each(|new| self.track.push(op(new)));
    }
}
