//! What a run's threads note while they run: the region of interest, and when they ask for locks,
//! have them and give them back.

use super::account::{Account, Requests};
use super::calls::Calls;
use super::run::Figures;
use baton_chip::{Outcome, act};
use baton_workloads::Probe;
use std::sync::{Arc, Mutex, PoisonError};

/// The region of interest of a run, from the first thread's beginning to the last one's end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region {
    /// The beginning and the end of the region, each with the number of packets of the network
    /// until then.
    ends: Option<[(u64, u64); 2]>,
    /// The times at which threads ended less the times at which they began, over all threads.
    active: i64,
}

impl Region {
    /// Notes that a thread begins its part of the region.
    pub(super) fn begin(&mut self) {
        // Packets before the region do not count as the longest: there all threads warm their
        // caches at once.
        act::forget_longest();
        self.moment(-1);
    }

    /// Notes that a thread ends its part of the region.
    pub(super) fn end(&mut self) {
        self.moment(1);
    }

    fn moment(&mut self, sign: i64) {
        let now = (act::time().0, act::messages());
        let [from, to] = self.ends.unwrap_or([now, now]);
        self.ends = Some([from.min(now), to.max(now)]);
        self.active += sign * now.0 as i64;
    }

    /// The beginning and the end of the region; the whole run if no thread noted them.
    pub(super) fn times(&self, outcome: &Outcome) -> (u64, u64) {
        self.ends.map_or((0, outcome.cycles.0), |[from, to]| (from.0, to.0))
    }

    /// The figures of a run in this region.
    pub(super) fn figures(&self, outcome: &Outcome, threads: u32, account: Account, calls: Account) -> Figures {
        let network = &outcome.network;
        let (from, to) = self.times(outcome);
        Figures {
            cycles: to - from,
            threads,
            account,
            calls,
            packets: self.ends.map_or(network.packets, |[from, to]| to.1 - from.1),
            lock_packets: network.lock_packets,
            longest: [network.longest_marked, network.longest_unmarked],
            flit_hops: network.flit_hops,
            active: self.active.max(0) as u64,
            times: None,
            window: None,
        }
    }
}

/// Everything that was noted in a run.
#[derive(Default)]
pub(super) struct Noted {
    /// The times at which each thread asked for locks. The log of the lock words says when it had
    /// them.
    pub(super) requests: Requests,
    pub(super) region: Region,
    /// What threads see of their locks.
    pub(super) calls: Calls,
}

/// Notes when threads ask for locks, have them, and give them back.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<Noted>>);

impl Notes {
    fn with<R>(&self, f: impl FnOnce(&mut Noted) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was noted.
    pub(super) fn take(&self) -> Noted {
        self.with(std::mem::take)
    }
}

impl Probe for Notes {
    fn request(&self, _: u32) -> u64 {
        let now = act::time().0;
        let thread = act::this().map_or(0, |guest| guest.number() as usize);
        self.with(|Noted { requests, .. }| {
            if requests.len() <= thread {
                requests.resize(thread + 1, Vec::new());
            }
            requests[thread].push(now);
        });
        act::wait_begins();
        now
    }

    fn acquired(&self, lock: u32, requested: u64) {
        act::wait_ends();
        self.with(|noted| noted.calls.acquired(lock, requested, act::time().0));
    }

    fn release(&self, lock: u32) {
        self.with(|noted| noted.calls.release(lock, act::time().0));
    }

    fn begin(&self) {
        self.with(|noted| noted.region.begin());
    }

    fn end(&self) {
        self.with(|noted| noted.region.end());
    }
}
