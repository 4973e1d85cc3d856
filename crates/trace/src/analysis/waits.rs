//! Waits at what is not a lock: condition variables, barriers, semaphores, joins.

use super::causes::Ended;
use super::objects::{Object, ObjectId};
use super::stats::Distribution;
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Construct, SiteId, ThreadIndex, What};
use std::collections::BTreeMap;

/// Figures of a condition variable, barrier or semaphore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitableStats {
    /// Waits that ended inside the window, with their part inside it. A wait at a barrier in which the thread runs tasks counts once for each
    /// stretch between them.
    pub wait: Distribution,
    /// From the cause (signal, last arrival, post) to the waiter's running, where the cause is known.
    pub wake: Distribution,
    /// Waits that were given up.
    pub timeouts: u64,
    /// Signals, or posts.
    pub signals: u64,
    /// Broadcasts.
    pub broadcasts: u64,
    /// Taken without a wait (semaphores).
    pub immediate: u64,
    /// Failed tries (semaphores).
    pub try_fails: u64,
    /// Of a barrier of OpenMP: the construct that it belongs to.
    pub construct: Option<Construct>,
    /// Of a barrier: rounds of two threads and more.
    pub rounds: u64,
    /// Of a barrier: in how many rounds each thread came last.
    pub last: BTreeMap<ThreadIndex, u64>,
    /// Those who have arrived for the round that is not over.
    pub(super) arrived: Vec<ThreadIndex>,
    /// Waits and their time by the waiting call site.
    pub sites: BTreeMap<SiteId, (u64, Ticks)>,
    /// Waits and their time by thread.
    pub threads: BTreeMap<ThreadIndex, (u64, Ticks)>,
}

/// A condition variable, barrier or semaphore and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitableReport {
    /// Its number, the same in every analysis of one trace.
    pub id: ObjectId,
    /// Which.
    pub object: Object,
    /// How it went.
    pub stats: WaitableStats,
}

impl WaitableStats {
    /// A wait ended at `now`. Gives its length inside the window.
    pub(super) fn ended<T>(&mut self, now: Ticks, thread: ThreadIndex, ended: &Ended<T>, window: &Window) -> Ticks {
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
        for (count, time) in [self.sites.entry(ended.site).or_default(), self.threads.entry(thread).or_default()] {
            *count += u64::from(inside);
            *time += length;
        }
        length
    }

    /// A thread arrives at a barrier, or leaves it: the first to leave shows that all have arrived.
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

    /// Counts what needs no wait.
    pub(super) fn count(&mut self, what: &What) {
        match what {
            What::CondSignal { .. } | What::SemPost { .. } => self.signals += 1,
            What::CondBroadcast { .. } => self.broadcasts += 1,
            What::SemTryFail { .. } => self.try_fails += 1,
            _ => {}
        }
    }
}
