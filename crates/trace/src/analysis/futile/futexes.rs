//! Finds futile wake-ups at futexes of the program's own, such as the condition variables of a
//! language's library.
//!
//! The trace does not show what a thread does between two waits in a futex: taking a lock that is
//! free makes no call. A wake-up counts as futile if the woken thread waits in the same futex again
//! and
//!
//! - has run for less than [`BRIEF`] in between, which is less than the wake-up itself costs;
//! - has done nothing in between that the trace shows, except for taking and releasing one lock: a
//!   thread that waits in another futex, and wakes a waiter there before it waits in the first one
//!   again, has taken a lock.
//!
//! The wake must have woken several threads, of which one did more than that, and the thread that
//! woke them must be one that never waits in that futex. Otherwise the threads may share out brief
//! work, or meet at a barrier, whose last thread wakes the others; and none of their wake-ups counts.
//! A lock whose release wakes all waiters cannot be told from a barrier.

use super::super::causes::{Ended, WaitKind};
use super::super::objects::ObjectId;
use super::super::vain::Stretch;
use super::Broadcast;
use super::awake::{BRIEF, Ran};
use crate::clock::{Clock, Ticks};
use crate::event::{Event, FutexEnd, ThreadIndex, What};
use std::collections::{BTreeMap, BTreeSet};

/// A thread that a wake has woken, and that has not acted since.
struct Awake {
    futex: ObjectId,
    wake: u64,
    since: Ticks,
    ran: Ran,
    /// The futex in which the thread waits, and since when.
    waits: Option<(ObjectId, Ticks)>,
    /// Whether the thread has waited for the lock, and has woken no other waiter there since.
    holds: bool,
}

/// The search for futile wake-ups by wakes of futexes.
#[derive(Default)]
pub(super) struct Futexes {
    /// The wakes that woke several threads, each by its event's number in the walk, with the thread
    /// that made it.
    wakes: BTreeMap<u64, (ThreadIndex, Broadcast)>,
    /// The threads that have waited in each futex.
    waiters: BTreeSet<(ObjectId, ThreadIndex)>,
    /// The number of each thread's latest wake.
    latest: BTreeMap<ThreadIndex, u64>,
    awake: BTreeMap<ThreadIndex, Awake>,
    /// The futex of the lock that woken threads take, by the futex that they were woken in.
    locks: BTreeMap<ObjectId, ObjectId>,
    brief: Ticks,
}

impl Futexes {
    pub(super) fn new(clock: &Clock) -> Futexes {
        Futexes { brief: Ticks(clock.ticks(BRIEF)), ..Futexes::default() }
    }

    /// Follows an event: `number` is its number in the walk, `ended` the wait that it ended.
    pub(super) fn step(&mut self, event: &Event, number: u64, object: Option<ObjectId>, ended: Option<&Ended<()>>) {
        let (thread, now) = (event.thread, event.time);
        match (event.what, object) {
            (What::FutexWait { .. }, Some(futex)) => {
                self.waiters.insert((futex, thread));
                self.waits(thread, futex, now);
            }
            (What::FutexWaitEnd { end, .. }, Some(futex)) => self.ends(event, futex, end, ended),
            (What::FutexWake { site, .. }, Some(futex)) => {
                self.latest.insert(thread, number);
                self.wakes.insert(number, (thread, Broadcast::new(futex, site, now)));
                self.gives(thread, futex);
            }
            (What::FutexWoke { woken, .. }, _) => {
                if let (0..=1, Some(wake)) = (woken, self.latest.get(&thread)) {
                    self.wakes.remove(wake);
                }
            }
            (What::OffCpu { .. }, _) => drop(self.awake.get_mut(&thread).map(|awake| awake.ran.stops(now))),
            (What::OnCpu { .. }, _) => {
                if let Some(awake) = self.awake.get_mut(&thread).filter(|awake| awake.waits.is_none()) {
                    awake.ran.goes_on(now);
                }
            }
            (what, _) if what.is_act() => drop(self.awake.remove(&thread)),
            _ => {}
        }
    }

    fn waits(&mut self, thread: ThreadIndex, futex: ObjectId, now: Ticks) {
        let Some(awake) = self.awake.get_mut(&thread) else { return };
        awake.ran.stops(now);
        if awake.futex != futex {
            awake.holds = true;
        }
        let is_lock = awake.futex == futex || *self.locks.entry(awake.futex).or_insert(futex) == futex;
        // A thread that waits in the same futex and holds the lock has waited there for something
        // else than a lock.
        match is_lock && awake.ran.time() < self.brief && !(awake.futex == futex && awake.holds) {
            true => awake.waits = Some((futex, now)),
            false => drop(self.awake.remove(&thread)),
        }
    }

    fn ends(&mut self, event: &Event, futex: ObjectId, end: FutexEnd, ended: Option<&Ended<()>>) {
        let (thread, now) = (event.thread, event.time);
        if let Some(awake) = self.awake.get_mut(&thread)
            && let Some((waited, since)) = awake.waits.take()
        {
            if waited != awake.futex || end == FutexEnd::Changed {
                awake.ran.goes_on(now);
                return;
            }
            self.again(thread, since);
        }
        let cause = ended.filter(|ended| ended.kind == WaitKind::Futex).and_then(|ended| ended.cause.as_ref());
        let Some(cause) = cause else { return };
        if let Some((_, wake)) = self.wakes.get_mut(&cause.number) {
            wake.woken += 1;
            let (wake, since) = (cause.number, cause.time);
            let awake = Awake { futex, wake, since, ran: Ran::from(now), waits: None, holds: false };
            self.awake.insert(thread, awake);
        }
    }

    /// Counts a futile wake-up: the thread has waited in the same futex again, from `at` on.
    fn again(&mut self, thread: ThreadIndex, at: Ticks) {
        let Some(awake) = self.awake.remove(&thread) else { return };
        if let Some((_, wake)) = self.wakes.get_mut(&awake.wake) {
            wake.again.push(Stretch { thread, begin: awake.since, end: at });
        }
    }

    /// The thread wakes waiters in a futex. Only at the lock that it may hold this is no act.
    fn gives(&mut self, thread: ThreadIndex, futex: ObjectId) {
        let Some(awake) = self.awake.get_mut(&thread) else { return };
        match self.locks.get(&awake.futex) == Some(&futex) && futex != awake.futex {
            true => awake.holds = false,
            false => drop(self.awake.remove(&thread)),
        }
    }

    /// Returns the wakes. Adds the locks that woken threads take to `locks`.
    pub(super) fn finish(
        mut self,
        locks: &mut BTreeMap<ObjectId, ObjectId>,
    ) -> impl Iterator<Item = Broadcast> + use<> {
        let waiting = |(thread, awake): (&ThreadIndex, &Awake)| match awake.waits {
            Some((futex, since)) if futex == awake.futex => Some((*thread, since)),
            _ => None,
        };
        let waiting: Vec<(ThreadIndex, Ticks)> = self.awake.iter().filter_map(waiting).collect();
        waiting.into_iter().for_each(|(thread, since)| self.again(thread, since));
        locks.extend(self.locks);
        let waiters = self.waiters;
        let told = move |(by, wake): (ThreadIndex, Broadcast)| {
            let is_outside = !waiters.contains(&(wake.object, by));
            (is_outside && (wake.again.len() as u64) < wake.woken).then_some(wake)
        };
        self.wakes.into_values().filter_map(told)
    }
}
