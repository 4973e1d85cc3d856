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

/// Consecutive acquisitions of one lock by one thread from a few places. Most runs are short, so each thread has one
/// `Streak` for all its runs, whose lists keep their memory.
#[derive(Default)]
struct Streak {
    /// The lock; `None` if no run goes on.
    object: Option<ObjectId>,
    /// The places of the run, each with the number of acquisitions that all threads had made there
    /// before the run first came to the place.
    places: Vec<(Address, u64)>,
    /// Number of all acquisitions of the lock before the run.
    before: u64,
    /// Number of acquisitions by call site: one place has a second site for acquisitions that
    /// waited.
    sites: Vec<(SiteId, u64)>,
    count: u64,
    /// How often the lock had been taken at other places since the run began, as of each of the
    /// run's latest acquisitions, the latest first.
    elsewhere: [u64; PLACES + 1],
    begin: Ticks,
    end: Ticks,
}

impl Streak {
    /// Begins a run with no acquisition yet.
    fn start(&mut self, object: ObjectId, taken: &Taken, time: Ticks) {
        (self.object, self.before, self.count) = (Some(object), taken.all, 0);
        (self.begin, self.elsewhere) = (time, [0; PLACES + 1]);
        self.places.clear();
        self.sites.clear();
    }

    /// Whether an acquisition of this lock from this place can belong to the run.
    fn goes_on(&self, object: ObjectId, place: Address) -> bool {
        self.object == Some(object)
            && (self.places.len() < PLACES || self.places.iter().any(|(known, _)| *known == place))
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
        match self.sites.iter_mut().find(|(known, _)| *known == site) {
            Some((_, count)) => *count += 1,
            None => self.sites.push((site, 1)),
        }
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
    /// The runs by the threads' numbers.
    runs: Vec<Streak>,
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
        if self.runs.len() <= thread.index() {
            self.runs.resize_with(thread.index() + 1, Streak::default);
        }
        let goes_on = self.runs[thread.index()].goes_on(object, place);
        if !goes_on {
            self.acted(thread);
        }
        let (taken, run) = (&mut self.taken[object.index()], &mut self.runs[thread.index()]);
        if !goes_on {
            run.start(object, taken, time);
        }
        run.add(taken, place, site, time);
        taken.count(place);
    }

    /// Records that a thread did something else than taking and releasing the lock: its run ends.
    pub(super) fn acted(&mut self, thread: ThreadIndex) {
        let Some(run) = self.runs.get_mut(thread.index()) else { return };
        let Some(object) = run.object.take() else { return };
        if !run.is_poll() {
            return;
        }
        let (begin, end) = (run.begin, run.end);
        for (site, count) in &run.sites {
            *self.found.counts.entry((object, *site)).or_default() += count;
        }
        self.found.stretches.entry(object).or_default().push(Stretch { thread, begin, end });
    }

    /// Returns what was found.
    pub(super) fn finish(mut self) -> Found {
        (0..self.runs.len() as u32).for_each(|thread| self.acted(ThreadIndex(thread)));
        self.found
    }
}
