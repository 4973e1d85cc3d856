//! Finds futile wake-ups by broadcasts of condition variables.
//!
//! A wake-up is futile if the woken thread waits at the same condition variable again, has only taken
//! the mutex in between as far as the trace shows, and has run for less than [`BRIEF`]: a thread may
//! do its work under the mutex. If all threads that one broadcast woke come back so soon, the first of
//! them still counts as having found what it waited for: its work may have been brief. The others may
//! have had their part of brief work, too, so advice must ask whether one thread is enough.

use super::super::causes::{Ended, WaitKind};
use super::super::objects::ObjectId;
use super::super::vain::Stretch;
use super::Broadcast;
use super::awake::{BRIEF, Ran};
use crate::clock::{Clock, Ticks};
use crate::event::{Address, Event, ThreadIndex, WakeReason, What};
use std::collections::BTreeMap;

/// A thread that a broadcast has woken, and that has not acted since.
struct Awake {
    object: ObjectId,
    broadcast: u64,
    since: Ticks,
    ran: Ran,
}

/// The search for futile wake-ups by broadcasts.
#[derive(Default)]
pub(super) struct Conditions {
    /// The broadcasts, each by its event's number in the walk.
    broadcasts: BTreeMap<u64, Broadcast>,
    awake: BTreeMap<ThreadIndex, Awake>,
    /// The mutex that each thread gave up in its last wait at a condition variable.
    mutexes: BTreeMap<ThreadIndex, Address>,
    /// The mutex with which threads wait at each condition variable.
    locks: BTreeMap<ObjectId, ObjectId>,
    brief: Ticks,
}

impl Conditions {
    pub(super) fn new(clock: &Clock) -> Conditions {
        Conditions { brief: Ticks(clock.ticks(BRIEF)), ..Conditions::default() }
    }

    /// Follows an event: `number` is its number in the walk, `ended` the wait that it ended.
    pub(super) fn step(&mut self, event: &Event, number: u64, object: Option<ObjectId>, ended: Option<&Ended<()>>) {
        let (thread, time) = (event.thread, event.time);
        match (event.what, object) {
            (What::CondBroadcast { site, .. }, Some(object)) => {
                self.awake.remove(&thread);
                self.broadcasts.insert(number, Broadcast::new(object, site, time));
            }
            (What::CondMutex { mutex }, _) => drop(self.mutexes.insert(thread, mutex)),
            (What::CondWake { reason: WakeReason::Woken, .. }, Some(object)) => {
                self.wake((thread, time), object, ended)
            }
            (What::CondWait { .. }, Some(object)) => self.wait(event, object),
            (What::OffCpu { .. }, _) => drop(self.awake.get_mut(&thread).map(|awake| awake.ran.stops(time))),
            (What::OnCpu { .. }, _) => drop(self.awake.get_mut(&thread).map(|awake| awake.ran.goes_on(time))),
            (what, _) if what.is_act() && !self.takes_mutex(event, object) => drop(self.awake.remove(&thread)),
            _ => {}
        }
    }

    fn wake(&mut self, (thread, now): (ThreadIndex, Ticks), object: ObjectId, ended: Option<&Ended<()>>) {
        let cause = ended.filter(|ended| ended.kind == WaitKind::Condition).and_then(|ended| ended.cause.as_ref());
        let Some(cause) = cause else { return };
        if let Some(broadcast) = self.broadcasts.get_mut(&cause.number) {
            broadcast.woken += 1;
            let (broadcast, since, ran) = (cause.number, cause.time, Ran::from(now));
            self.awake.insert(thread, Awake { object, broadcast, since, ran });
        }
    }

    fn wait(&mut self, event: &Event, object: ObjectId) {
        let Some(mut awake) = self.awake.remove(&event.thread).filter(|awake| awake.object == object) else { return };
        awake.ran.stops(event.time);
        if awake.ran.time() >= self.brief {
            return;
        }
        if let Some(broadcast) = self.broadcasts.get_mut(&awake.broadcast) {
            broadcast.again.push(Stretch { thread: event.thread, begin: awake.since, end: event.time });
        }
    }

    /// Whether the event takes, or begins to take, the mutex that the thread gave up in its last
    /// wait at a condition variable.
    fn takes_mutex(&mut self, event: &Event, object: Option<ObjectId>) -> bool {
        let (What::Acquire { lock, .. } | What::Request { lock, .. } | What::Acquired { lock, .. }) = event.what else {
            return false;
        };
        let takes = self.mutexes.get(&event.thread) == Some(&lock.address);
        if let (true, Some(awake), Some(lock)) = (takes, self.awake.get_mut(&event.thread), object) {
            self.locks.insert(awake.object, lock);
            // Waiting for the mutex is no work.
            match event.what {
                What::Request { .. } => awake.ran.stops(event.time),
                _ => awake.ran.goes_on(event.time),
            }
        }
        takes
    }

    /// Returns the broadcasts. Adds the mutex with which threads wait at each condition variable to
    /// `locks`.
    pub(super) fn finish(self, locks: &mut BTreeMap<ObjectId, ObjectId>) -> impl Iterator<Item = Broadcast> + use<> {
        locks.extend(self.locks);
        self.broadcasts.into_values().map(|mut broadcast| {
            let all_again = broadcast.woken > 0 && broadcast.again.len() as u64 == broadcast.woken;
            broadcast.again.drain(..usize::from(all_again));
            broadcast
        })
    }
}
