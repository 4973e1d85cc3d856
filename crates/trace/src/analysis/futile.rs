//! Futile wake-ups: a broadcast wakes threads that find nothing to do, and wait again.
//!
//! A wake-up is futile if the woken thread waits at the same condition variable again, and has only
//! taken the mutex in between as far as the trace shows. If all threads that one broadcast woke
//! wait again, one of them still counts as having found what it waited for, because a thread may do
//! its work under the mutex. Wakes of futexes are left out, because the trace does not show what a
//! thread does between two of them.

use super::causes::{Ended, WaitKind};
use super::objects::ObjectId;
use super::vain::{Stretch, Vain};
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, WakeReason, What};
use std::collections::BTreeMap;

/// Counts for one condition variable: how often its broadcasts woke several threads, and for
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FutileWakes {
    /// Number of broadcasts that woke at least two threads.
    pub broadcasts: u64,
    /// Number of threads that these broadcasts woke.
    pub woken: u64,
    /// Number of these threads that found nothing to do.
    pub futile: u64,
    /// Number of futile wake-ups, by the call site of the broadcast that caused them.
    pub sites: BTreeMap<SiteId, u64>,
}

impl FutileWakes {
    /// Whether more than half of the wake-ups are futile.
    pub fn is_herd(&self) -> bool {
        self.futile * 2 > self.woken
    }
}

struct Broadcast {
    object: ObjectId,
    site: SiteId,
    time: Ticks,
    woken: u64,
    /// The woken threads that waited again without having acted, in the order in which they waited:
    /// for each, the time from the broadcast to the new wait.
    again: Vec<Stretch>,
}

/// A thread that a broadcast has woken, and that has not acted since.
struct Awake {
    object: ObjectId,
    broadcast: u64,
    since: Ticks,
}

/// The search for futile wake-ups, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Wakes {
    /// The broadcasts, each by its event's number in the walk.
    broadcasts: BTreeMap<u64, Broadcast>,
    awake: BTreeMap<ThreadIndex, Awake>,
    /// The mutex that each thread gave up in its last wait at a condition variable.
    mutexes: BTreeMap<ThreadIndex, Address>,
    /// The mutex with which threads wait at each condition variable.
    locks: BTreeMap<ObjectId, ObjectId>,
}

impl Wakes {
    /// Follows an event: `number` is its number in the walk, `ended` the wait that it ended.
    pub(super) fn step(&mut self, event: &Event, number: u64, object: Option<ObjectId>, ended: Option<&Ended<()>>) {
        let (thread, time) = (event.thread, event.time);
        match (event.what, object) {
            (What::CondBroadcast { site, .. }, Some(object)) => {
                self.awake.remove(&thread);
                self.broadcasts.insert(number, Broadcast { object, site, time, woken: 0, again: Vec::new() });
            }
            (What::CondMutex { mutex }, _) => drop(self.mutexes.insert(thread, mutex)),
            (What::CondWake { reason: WakeReason::Woken, .. }, Some(object)) => self.wake(thread, object, ended),
            (What::CondWait { .. }, Some(object)) => self.wait(event, object),
            (what, _) if what.is_act() && !self.takes_mutex(event, object) => drop(self.awake.remove(&thread)),
            _ => {}
        }
    }

    fn wake(&mut self, thread: ThreadIndex, object: ObjectId, ended: Option<&Ended<()>>) {
        let cause = ended.filter(|ended| ended.kind == WaitKind::Condition).and_then(|ended| ended.cause.as_ref());
        let Some(cause) = cause else { return };
        if let Some(broadcast) = self.broadcasts.get_mut(&cause.number) {
            broadcast.woken += 1;
            self.awake.insert(thread, Awake { object, broadcast: cause.number, since: cause.time });
        }
    }

    fn wait(&mut self, event: &Event, object: ObjectId) {
        let Some(awake) = self.awake.remove(&event.thread).filter(|awake| awake.object == object) else { return };
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
        if let (true, Some(awake), Some(lock)) = (takes, self.awake.get(&event.thread), object) {
            self.locks.insert(awake.object, lock);
        }
        takes
    }

    /// Returns the counts of each condition variable for broadcasts inside the window. Where most
    /// wake-ups of a variable are futile, adds them to `vain`.
    pub(super) fn finish(self, window: &Window, vain: &mut Vain, cpus: usize) -> BTreeMap<ObjectId, FutileWakes> {
        let mut numbers: BTreeMap<ObjectId, FutileWakes> = BTreeMap::new();
        let mut stretches: BTreeMap<ObjectId, Vec<Stretch>> = BTreeMap::new();
        let counted = |broadcast: &Broadcast| broadcast.woken > 1 && window.contains(broadcast.time);
        for broadcast in self.broadcasts.into_values().filter(counted) {
            let all_again = broadcast.again.len() as u64 == broadcast.woken;
            let futile = &broadcast.again[usize::from(all_again)..];
            let of = numbers.entry(broadcast.object).or_default();
            of.broadcasts += 1;
            of.woken += broadcast.woken;
            of.futile += futile.len() as u64;
            *of.sites.entry(broadcast.site).or_default() += futile.len() as u64;
            stretches.entry(broadcast.object).or_default().extend(futile);
        }
        for (object, stretches) in stretches.iter().filter(|(object, _)| numbers[object].is_herd()) {
            vain.add(*object, self.locks.get(object).copied(), stretches, cpus);
        }
        numbers
    }
}
