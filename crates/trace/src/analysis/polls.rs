//! Waits in disguise: a thread that takes one lock from one place again and again until another thread changes a value.
//!
//! A run of acquisitions is a poll if the thread did nothing else that the trace shows in between, there are at least [`LEAST`] of
//! them, and another thread took the lock elsewhere between the last two: what it changed there let the loop end. Others take
//! it elsewhere seldom meanwhile, at most half as often, or the run is two threads at work on the same data.

use super::objects::ObjectId;
use crate::event::{Address, SiteId, ThreadIndex};
use std::collections::BTreeMap;

/// Acquisitions of a run, at least: a loop that found its value at once or almost so lost nothing.
const LEAST: u64 = 8;

/// Acquisitions of one lock, by the return address of the place that took it.
#[derive(Default)]
struct Taken {
    all: u64,
    places: Vec<(Address, u64)>,
}

impl Taken {
    /// Counts one; gives how many were made elsewhere so far.
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

/// Acquisitions of one lock by one thread from one place, with nothing in between.
struct Run {
    object: ObjectId,
    place: Address,
    /// By site: a place is another site where it had to wait.
    sites: BTreeMap<SiteId, u64>,
    count: u64,
    /// Acquisitions elsewhere up to its first, its last but one, and its last.
    elsewhere: [u64; 3],
}

impl Run {
    fn is_poll(&self) -> bool {
        let [first, before, last] = self.elsewhere;
        self.count >= LEAST && last > before && last - first <= self.count / 2
    }
}

/// The search, along a walk over the events.
#[derive(Default)]
pub(super) struct Polls {
    taken: Vec<Taken>,
    runs: BTreeMap<ThreadIndex, Run>,
    found: BTreeMap<(ObjectId, SiteId), u64>,
}

impl Polls {
    /// A thread took a lock, from a place that is known.
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

    /// A thread did something else: its run is over.
    pub(super) fn acted(&mut self, thread: ThreadIndex) {
        let Some(run) = self.runs.remove(&thread).filter(Run::is_poll) else { return };
        for (site, count) in run.sites {
            *self.found.entry((run.object, site)).or_default() += count;
        }
    }

    /// How many acquisitions of each lock from each site were polls.
    pub(super) fn finish(mut self) -> BTreeMap<(ObjectId, SiteId), u64> {
        for thread in self.runs.keys().copied().collect::<Vec<_>>() {
            self.acted(thread);
        }
        self.found
    }
}
