//! A second walk over the events, which drops threads that the first one took for background threads:
//!
//! - those that had not made their turns when the joiner came: the first walk counted the turns of the
//!   whole life;
//! - those that told the joiner in their last turn that they were done, before it joined them. The
//!   joiner left a barrier at which the thread had arrived, took what the thread had posted, or was
//!   woken by it. Or the last lock that the thread released, behind its loop, was taken by the joiner
//!   afterwards: the thread may have said so in what the lock protects. Then the other threads of a
//!   row that one call created were at work, too. A thread that the joiner told to end before, by a
//!   signal, a wake or a post, only answers.

use super::super::serves::{hears, says};
use super::joined::{ASLEEP, Found};
use super::life::{Life, TURNS};
use super::told::LoopPoint;
use super::walk::Walk;
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// Drops threads from `found`, and sets the others' places to those of the turns before the joiner came.
pub(super) fn confirm(trace: &Trace, walk: &Walk, found: &mut BTreeMap<ThreadIndex, Found>) {
    let named = named_in(found, trace);
    let judged = |one: &&Found| !named.contains(&one.background.thread);
    let lives = found.values().filter(judged).filter(|one| one.background.turns_at.is_some());
    let until = |one: &Found| Life { until: Some(one.background.came), ..Life::default() };
    let mut lives: BTreeMap<_, _> = lives.map(|one| (one.background.thread, until(one))).collect();
    let mut talk = Talk::of(walk, found.values().filter(|one| one.background.joined && !one.by_word));
    if lives.is_empty() && talk.speakers.is_empty() {
        return;
    }
    for event in trace.complete_events() {
        if let Some(life) = lives.get_mut(&event.thread)
            && let Some(place) = life.goes_to(&event.what)
        {
            life.came_to(place, event.time, None);
        }
        talk.step(&event);
    }
    let told: BTreeSet<ThreadIndex> = talk.told(walk).collect();
    found.retain(|thread, one| {
        let own = || one.group.is_some_and(|group| walk.members(group).any(|join| told.contains(&join.child)));
        if !one.by_word && (told.contains(thread) || own()) {
            return false;
        }
        match lives.get(thread).map(Life::turns) {
            Some(Some((place, longest))) => {
                one.background.turns_at = Some(place);
                one.background.ended.since(one.background.came) <= longest
            }
            Some(None) => false,
            None => true,
        }
    });
    drop_those_that_rely_on_others(found);
}

/// Drops threads for which the joiner came when it joined a thread that is no background thread.
fn drop_those_that_rely_on_others(found: &mut BTreeMap<ThreadIndex, Found>) {
    loop {
        let left: BTreeSet<ThreadIndex> = found.keys().copied().collect();
        found.retain(|_, one| one.after.is_none_or(|after| left.contains(&after)));
        if found.len() == left.len() {
            return;
        }
    }
}

/// A thread that may have told its joiner that it was done.
#[derive(Default)]
struct Speaker {
    /// The objects at which the thread said something: when first, and when last.
    said: BTreeMap<u64, (Ticks, Ticks)>,
    /// What the joiner heard of it before the join: when the thread said so.
    heard: Option<Ticks>,
    /// The lock that the thread released last, where, and when.
    released: Option<(Address, SiteId, Ticks)>,
    /// The release after which the joiner took the lock, before the join.
    taken: Option<(SiteId, Ticks)>,
}

/// What a joiner heard, and the locks that it took: when last.
#[derive(Default)]
struct Listener {
    heard: BTreeMap<u64, Ticks>,
    taken: BTreeMap<Address, Ticks>,
}

/// What threads told their joiners.
struct Talk {
    speakers: BTreeMap<ThreadIndex, Speaker>,
    listeners: BTreeMap<ThreadIndex, Listener>,
    /// The speaker that a listener begins to join at a time.
    joins: BTreeMap<(ThreadIndex, Ticks), ThreadIndex>,
}

impl Talk {
    /// Follows these threads and those of their groups.
    fn of<'a>(walk: &Walk, found: impl Iterator<Item = &'a Found>) -> Talk {
        let (mut joins, mut groups) = (BTreeMap::new(), BTreeSet::new());
        for one in found {
            joins.insert((one.background.joiner, one.begin), one.background.thread);
            if let Some(group) = one.group.filter(|group| groups.insert(*group)) {
                joins.extend(walk.members(group).map(|join| ((group.0, join.begin), join.child)));
            }
        }
        let speakers = joins.values().map(|thread| (*thread, Speaker::default())).collect();
        let listeners = joins.keys().map(|(joiner, _)| (*joiner, Listener::default())).collect();
        Talk { speakers, listeners, joins }
    }

    fn step(&mut self, event: &Event) {
        let now = event.time;
        if let Some(speaker) = self.speakers.get_mut(&event.thread) {
            if let Some(object) = says(&event.what) {
                speaker.said.entry(object).or_insert((now, now)).1 = now;
            }
            if let What::Release { lock, site, .. } = event.what {
                speaker.released = Some((lock.address, site, now));
            }
        }
        let Some(listener) = self.listeners.get_mut(&event.thread) else { return };
        if let Some(object) = hears(&event.what) {
            listener.heard.insert(object, now);
        }
        match event.what {
            What::Acquire { lock, .. } | What::Acquired { lock, .. } => drop(listener.taken.insert(lock.address, now)),
            What::JoinBegin { .. } => {
                let child = self.joins.get(&(event.thread, now));
                if let Some(speaker) = child.and_then(|child| self.speakers.get_mut(child)) {
                    speaker.is_joined(listener);
                }
            }
            _ => {}
        }
    }

    /// The threads that told their joiner in their last turn that they were done.
    fn told(self, walk: &Walk) -> impl Iterator<Item = ThreadIndex> {
        let told = |(thread, speaker): &(ThreadIndex, Speaker)| speaker.told(walk.life(*thread));
        self.speakers.into_iter().filter(told).map(|(thread, _)| thread)
    }
}

impl Speaker {
    /// The joiner begins to join the thread.
    fn is_joined(&mut self, joiner: &Listener) {
        for (object, &(first, last)) in &self.said {
            let heard = joiner.heard.get(object).copied().filter(|heard| *heard >= first);
            self.heard = self.heard.max(heard.map(|heard| heard.min(last)));
        }
        let taken =
            |(lock, _, when): &(Address, SiteId, Ticks)| joiner.taken.get(lock).is_some_and(|taken| taken > when);
        self.taken = self.released.filter(taken).map(|(_, site, when)| (site, when));
    }

    /// Whether the joiner heard in the thread's last turn that the thread was done.
    fn told(&self, life: &Life) -> bool {
        let (Some(began), Some(ended)) = (life.began, life.ended) else { return false };
        let (last, turn) = match life.turns() {
            Some((place, longest)) => (life.places[&place].last, longest),
            None => (ended, Ticks(ended.since(began).0 / ASLEEP)),
        };
        let left = self.taken.is_some_and(|(site, when)| {
            let visits = life.places.get(&LoopPoint::Release(site)).map_or(0, |visits| visits.count);
            visits <= TURNS && self.released.is_some_and(|(.., released)| released == when)
        });
        left || self.heard.is_some_and(|heard| last.since(heard) <= turn)
    }
}

/// The threads that the user named.
fn named_in(found: &BTreeMap<ThreadIndex, Found>, trace: &Trace) -> BTreeSet<ThreadIndex> {
    let Some(ends) = trace.meta.as_ref().map(|meta| &meta.ends) else { return BTreeSet::new() };
    found.keys().copied().filter(|thread| super::told::is_named(&ends.background, trace, *thread)).collect()
}
