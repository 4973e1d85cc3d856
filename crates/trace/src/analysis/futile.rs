//! Futile wake-ups: a broadcast wakes threads that find nothing to do, and wait again.
//!
//! A wake-up is futile if the thread waits at the same condition variable again, and has done
//! nothing in between that the trace shows except taking the mutex. If all threads
//! that one broadcast woke wait again, one of them still counts as having found what it waited for: a
//! thread may do its work under the mutex. Wakes of futexes are not looked at, because the trace does not
//! show what a thread does between two of them.

use super::causes::{Ended, WaitKind};
use super::objects::ObjectId;
use super::vain::{Stretch, Vain};
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, WakeReason, What};
use std::collections::BTreeMap;

/// Numbers of the broadcasts of one condition variable that woke several threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FutileWakes {
    /// Number of broadcasts that woke two threads or more.
    pub broadcasts: u64,
    /// Number of threads that these broadcasts woke.
    pub woken: u64,
    /// Number of these threads that found nothing to do.
    pub futile: u64,
    /// Number of futile wake-ups, by the call site of the broadcast.
    pub sites: BTreeMap<SiteId, u64>,
}

impl FutileWakes {
    /// Whether most wake-ups are futile.
    pub fn is_herd(&self) -> bool {
        self.futile * 2 > self.woken
    }
}

struct Broadcast {
    object: ObjectId,
    site: SiteId,
    time: Ticks,
    woken: u64,
    /// The threads that waited again at once, in the order in which they did.
    again: Vec<Stretch>,
}

/// A thread that a broadcast has woken, and that has not acted since.
struct Awake {
    object: ObjectId,
    broadcast: u64,
    since: Ticks,
}

/// The search, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Wakes {
    /// By the number of the event.
    broadcasts: BTreeMap<u64, Broadcast>,
    awake: BTreeMap<ThreadIndex, Awake>,
    /// The mutex of each thread's last wait at a condition variable.
    mutexes: BTreeMap<ThreadIndex, Address>,
    /// The mutex of each condition variable.
    locks: BTreeMap<ObjectId, ObjectId>,
}

impl Wakes {
    /// Follows an event, with its number and the wait that it ended.
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

    /// Whether a thread takes the mutex of the wait that it has left.
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

    /// Returns the numbers of each condition variable inside the window. Adds the time of threads that
    /// were woken in vain to `vain`, for conditions of which most wake-ups are futile.
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
