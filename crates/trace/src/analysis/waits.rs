//! Waits at objects other than locks: condition variables, barriers, semaphores, queues, futexes of
//! the program's own, locks inside of the C library.

use super::causes::{Ended, WaitKind};
use super::futile::FutileWakes;
use super::objects::{Object, ObjectId};
use super::queues::QueueStats;
use super::stats::Distribution;
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Construct, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// Figures of an object other than a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitableStats {
    /// Lengths, inside the window, of the waits that ended inside it. A wait at a barrier in which
    /// the thread runs tasks counts once for each interval between tasks.
    pub wait: Distribution,
    /// Lengths from the cause of a wait's end (such as a signal, a last arrival or a post) until
    /// the waiter ran, where the cause is known and lies inside the wait.
    pub wake: Distribution,
    /// Waits that ended without what the thread waited for: by a deadline, a cancellation or an
    /// error.
    pub timeouts: u64,
    /// Signals of a condition variable, posts of a semaphore, or wakes of a futex or of a lock
    /// inside of the C library.
    pub signals: u64,
    /// Broadcasts of a condition variable.
    pub broadcasts: u64,
    /// Takes of a semaphore without a wait, or calls to wait in a futex whose value had changed.
    pub immediate: u64,
    /// Failed tries to take a semaphore.
    pub try_fails: u64,
    /// How many broadcasts of a condition variable, or wakes of a futex, woke several threads, how
    /// many threads they woke, and how many of the woken threads found nothing to do.
    pub futile: FutileWakes,
    /// The OpenMP construct that a barrier belongs to, if known.
    pub construct: Option<Construct>,
    /// Rounds of a barrier with two threads or more.
    pub rounds: u64,
    /// For a barrier, the number of rounds in which each thread arrived last.
    pub last: BTreeMap<ThreadIndex, u64>,
    /// Threads that have arrived at the barrier for the current round.
    pub(super) arrived: Vec<ThreadIndex>,
    /// Number and total time of the waits of each call site.
    pub sites: BTreeMap<(ProcessIndex, SiteId), (u64, Ticks)>,
    /// Number and total time of each thread's waits.
    pub threads: BTreeMap<ThreadIndex, (u64, Ticks)>,
    /// Figures of a queue's two sides; `None` for other objects.
    pub queue: Option<Box<QueueStats>>,
}

/// An object other than a lock, and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitableReport {
    /// The object's number, the same in every analysis of one trace.
    pub id: ObjectId,
    /// Process, address and kind of the object.
    pub object: Object,
    /// Figures of the object.
    pub stats: WaitableStats,
}

impl WaitableStats {
    /// Records that a wait ended at `now`. Returns the wait's length inside the window.
    pub(super) fn ended<T>(
        &mut self,
        now: Ticks,
        (process, thread): (ProcessIndex, ThreadIndex),
        ended: &Ended<T>,
        window: &Window,
    ) -> Ticks {
        let inside = window.contains(now);
        let Some(begin) = ended.begin else {
            self.immediate += u64::from(inside);
            return Ticks(0);
        };
        let length = window.overlap(begin, now);
        if inside {
            self.wait.add(length);
            self.timeouts += u64::from(ended.gave_up);
            if let Some(cause) = ended.cause.as_ref().filter(|cause| cause.time >= begin) {
                self.wake.add(now.since(cause.time));
            }
        }
        let site = (process, ended.site);
        for (count, time) in [self.sites.entry(site).or_default(), self.threads.entry(thread).or_default()] {
            *count += u64::from(inside);
            *time += length;
        }
        if let Some(side) = self.queue.as_mut().and_then(|queue| queue.side(ended.kind)) {
            side.waited(thread, site, length, inside.then_some(ended.gave_up));
        }
        length
    }

    /// Adds the part inside the window of a wait that has not ended when the window does.
    pub(super) fn carried(&mut self, kind: WaitKind, thread: ThreadIndex, site: (ProcessIndex, SiteId), length: Ticks) {
        if let Some(side) = self.queue.as_mut().and_then(|queue| queue.side(kind)) {
            side.waited(thread, site, length, None);
        }
        self.sites.entry(site).or_default().1 += length;
        self.threads.entry(thread).or_default().1 += length;
    }

    /// Records that a thread arrives at a barrier (`arrives`), or leaves it. The first thread to
    /// leave shows that all threads of the round have arrived.
    pub(super) fn meet(&mut self, thread: ThreadIndex, arrives: bool, counted: bool) {
        if arrives {
            self.arrived.push(thread);
        } else if self.arrived.contains(&thread) {
            let all = std::mem::take(&mut self.arrived);
            if let (Some(last), true) = (all.last(), counted && all.len() > 1) {
                self.rounds += 1;
                *self.last.entry(*last).or_default() += 1;
            }
        }
    }

    /// Counts an event at the object that neither begins nor ends a wait.
    pub(super) fn count(&mut self, what: &What) {
        match what {
            What::CondSignal { .. } | What::SemPost { .. } | What::FutexWake { .. } | What::LibcWake { .. } => {
                self.signals += 1
            }
            What::CondBroadcast { .. } => self.broadcasts += 1,
            What::SemTryFail { .. } => self.try_fails += 1,
            _ => {}
        }
    }
}
