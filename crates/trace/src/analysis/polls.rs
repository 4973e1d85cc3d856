//! Detects polling: a thread that takes one lock from one place again and again until another
//! thread changes a value is in fact waiting.
//!
//! A run of acquisitions is a poll if the thread did nothing else that the trace shows in between,
//! the run has at least [`LEAST`] of them, and another thread took the lock elsewhere between the
//! last two: its change let the loop end. Meanwhile the lock must be taken elsewhere at most half
//! as often; otherwise the run is two threads working on the same data.

use super::objects::ObjectId;
use crate::event::{Address, SiteId, ThreadIndex};
use std::collections::BTreeMap;

/// Smallest length of a run: a loop that finds its value almost at once loses nothing.
const LEAST: u64 = 8;

/// Acquisitions of one lock, by the return address of the acquiring place.
#[derive(Default)]
struct Taken {
    all: u64,
    places: Vec<(Address, u64)>,
}

impl Taken {
    /// Counts an acquisition. Returns how many acquisitions were made elsewhere so far.
    fn count(&mut self, place: Address) -> u64 {
        self.all += 1;
        let here = match self.places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, here)) => here,
            None => {
                self.places.push((place, 0));
                &mut self.places.last_mut().expect("just pushed").1
            }
        };
        *here += 1;
        self.all - *here
    }
}

/// Consecutive acquisitions of one lock by one thread from one place.
struct Run {
    object: ObjectId,
    place: Address,
    /// Number of acquisitions by site: a place has another site where it had to wait.
    sites: BTreeMap<SiteId, u64>,
    count: u64,
    /// Acquisitions made elsewhere up to the run's first, last but one and last acquisition.
    elsewhere: [u64; 3],
}

impl Run {
    fn is_poll(&self) -> bool {
        let [first, before, last] = self.elsewhere;
        self.count >= LEAST && last > before && last - first <= self.count / 2
    }
}

/// The search, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Polls {
    taken: Vec<Taken>,
    runs: BTreeMap<ThreadIndex, Run>,
    found: BTreeMap<(ObjectId, SiteId), u64>,
}

impl Polls {
    /// Records that a thread took a lock from a known place.
    pub(super) fn acquired(&mut self, thread: ThreadIndex, object: ObjectId, site: SiteId, place: Address) {
        if self.taken.len() <= object.index() {
            self.taken.resize_with(object.index() + 1, Taken::default);
        }
        let elsewhere = self.taken[object.index()].count(place);
        if self.runs.get(&thread).is_none_or(|run| (run.object, run.place) != (object, place)) {
            self.acted(thread);
            let run = Run { object, place, sites: BTreeMap::new(), count: 0, elsewhere: [elsewhere; 3] };
            self.runs.insert(thread, run);
        }
        let Some(run) = self.runs.get_mut(&thread) else { return };
        run.elsewhere = [run.elsewhere[0], run.elsewhere[2], elsewhere];
        run.count += 1;
        *run.sites.entry(site).or_default() += 1;
    }

    /// Records that a thread did something else, which ends its run.
    pub(super) fn acted(&mut self, thread: ThreadIndex) {
        let Some(run) = self.runs.remove(&thread).filter(Run::is_poll) else { return };
        for (site, count) in run.sites {
            *self.found.entry((run.object, site)).or_default() += count;
        }
    }

    /// Returns the number of acquisitions of each lock from each site that were polls.
    pub(super) fn finish(mut self) -> BTreeMap<(ObjectId, SiteId), u64> {
        for thread in self.runs.keys().copied().collect::<Vec<_>>() {
            self.acted(thread);
        }
        self.found
    }
}
