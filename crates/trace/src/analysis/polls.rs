//! Detects polling: a thread that takes one lock from one or two places again and again until
//! another thread changes a value is in fact waiting.
//!
//! A run of acquisitions is a poll if the thread did nothing else that the trace shows in between,
//! the run has at least [`LEAST`] of them, and another thread took the lock elsewhere since the
//! run's last but one acquisition from each place: a change that the other thread made there let
//! the loop end. During the run, others must take the lock elsewhere at most half as often as the
//! run does; otherwise two threads work on the same data.

use super::objects::ObjectId;
use super::vain::Stretch;
use crate::clock::Ticks;
use crate::event::{Address, SiteId, ThreadIndex};
use std::collections::BTreeMap;

/// Fewest acquisitions of a run that counts as a poll: a loop that finds its value almost at once
/// loses nothing.
const LEAST: u64 = 8;

/// Most places that a run takes the lock from, such as "is there more to do" and "take it".
const PLACES: usize = 2;

/// Counts the acquisitions of one lock, by the return address of the acquiring place.
#[derive(Default)]
struct Taken {
    all: u64,
    places: Vec<(Address, u64)>,
}

impl Taken {
    fn at(&self, place: Address) -> u64 {
        self.places.iter().find(|(known, _)| *known == place).map_or(0, |(_, count)| *count)
    }

    fn count(&mut self, place: Address) {
        self.all += 1;
        match self.places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1,
            None => self.places.push((place, 1)),
        }
    }
}

/// Consecutive acquisitions of one lock by one thread from a few places.
struct Streak {
    object: ObjectId,
    /// The places of the run, each with the number of acquisitions that all threads had made there
    /// before the run first came to the place.
    places: Vec<(Address, u64)>,
    /// Number of all acquisitions of the lock before the run.
    before: u64,
    /// Number of acquisitions by call site: one place has a second site for acquisitions that
    /// waited.
    sites: BTreeMap<SiteId, u64>,
    count: u64,
    /// How often the lock had been taken at other places since the run began, as of each of the
    /// run's latest acquisitions, the latest first.
    elsewhere: [u64; PLACES + 1],
    begin: Ticks,
    end: Ticks,
}

impl Streak {
    fn new(object: ObjectId, taken: &Taken, time: Ticks) -> Streak {
        let (places, sites, before) = (Vec::new(), BTreeMap::new(), taken.all);
        Streak { object, places, before, sites, count: 0, elsewhere: [0; PLACES + 1], begin: time, end: time }
    }

    /// Whether an acquisition of this lock from this place can belong to the run.
    fn goes_on(&self, object: ObjectId, place: Address) -> bool {
        self.object == object && (self.places.len() < PLACES || self.places.iter().any(|(known, _)| *known == place))
    }

    /// Adds an acquisition to the run. `taken` does not count that acquisition yet.
    fn add(&mut self, taken: &Taken, place: Address, site: SiteId, time: Ticks) {
        if !self.places.iter().any(|(known, _)| *known == place) {
            self.places.push((place, taken.at(place)));
        }
        let here: u64 = self.places.iter().map(|(place, before)| taken.at(*place) - before).sum();
        self.elsewhere.rotate_right(1);
        self.elsewhere[0] = taken.all - self.before - here;
        self.count += 1;
        *self.sites.entry(site).or_default() += 1;
        self.end = time;
    }

    fn is_poll(&self) -> bool {
        let last = self.elsewhere[0];
        self.count >= LEAST && last > self.elsewhere[self.places.len()] && last <= self.count / 2
    }
}

/// The search for polls, fed by a walk over the events.
#[derive(Default)]
pub(super) struct Polls {
    taken: Vec<Taken>,
    runs: BTreeMap<ThreadIndex, Streak>,
    found: Found,
}

/// The polls that were found.
#[derive(Default)]
pub(super) struct Found {
    /// Number of acquisitions that belong to polls, by lock and call site.
    pub(super) counts: BTreeMap<(ObjectId, SiteId), u64>,
    /// For each lock, when threads polled under it.
    pub(super) stretches: BTreeMap<ObjectId, Vec<Stretch>>,
}

impl Polls {
    /// Records that a thread took a lock from a place in the code that is known.
    pub(super) fn acquired(
        &mut self,
        thread: ThreadIndex,
        object: ObjectId,
        site: SiteId,
        place: Address,
        time: Ticks,
    ) {
        if self.taken.len() <= object.index() {
            self.taken.resize_with(object.index() + 1, Taken::default);
        }
        if !self.runs.get(&thread).is_some_and(|run| run.goes_on(object, place)) {
            self.acted(thread);
        }
        let taken = &mut self.taken[object.index()];
        let run = self.runs.entry(thread).or_insert_with(|| Streak::new(object, taken, time));
        run.add(taken, place, site, time);
        taken.count(place);
    }

    /// Records that a thread did something else than taking and releasing the lock: its run ends.
    pub(super) fn acted(&mut self, thread: ThreadIndex) {
        let Some(run) = self.runs.remove(&thread).filter(Streak::is_poll) else { return };
        let Streak { object, sites, begin, end, .. } = run;
        for (site, count) in sites {
            *self.found.counts.entry((object, site)).or_default() += count;
        }
        self.found.stretches.entry(object).or_default().push(Stretch { thread, begin, end });
    }

    /// Returns what was found.
    pub(super) fn finish(mut self) -> Found {
        for thread in self.runs.keys().copied().collect::<Vec<_>>() {
            self.acted(thread);
        }
        self.found
    }
}
