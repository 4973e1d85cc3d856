//! What a thread's life showed: the places to which its loops came back, the threads that it joined,
//! and what it did for others.

use super::last_act::LastActs;
use super::told::LoopPoint;
use crate::clock::Ticks;
use crate::event::{FutexEnd, SiteId, ThreadIndex, WakeReason, What};
use std::collections::{BTreeMap, BTreeSet};

/// A loop counts as seen once a thread has gone round in it this often, so that the thread came to
/// the loop's place once more than this.
pub(super) const TURNS: u64 = 3;

/// How often a thread came to a place, and the longest time between two visits there.
pub(super) struct Visits {
    pub(super) count: u64,
    pub(super) first: Ticks,
    pub(super) last: Ticks,
    pub(super) longest: Ticks,
    /// The call sites at which the locks that the thread released there began to live
    /// ([`Lives`](super::super::lock_lives::Lives)).
    pub(super) locks: BTreeSet<SiteId>,
}

/// A join that ended well.
pub(super) struct Join {
    pub(super) child: ThreadIndex,
    pub(super) begin: Ticks,
    /// The joiner's last acts before the join.
    pub(super) acts: LastActs,
}

/// What a thread has done so far.
#[derive(Default)]
pub(super) struct Life {
    /// Visits after this moment do not count, and the turn in which it lies is the last one.
    pub(super) until: Option<Ticks>,
    pub(super) began: Option<Ticks>,
    pub(super) ended: Option<Ticks>,
    /// The locks held, counted with each repeated acquisition.
    pub(super) held: u32,
    pub(super) places: BTreeMap<LoopPoint, Visits>,
    /// Whether the thread did something for other threads, or got something from them, other than by
    /// locks.
    pub(super) serves: bool,
    /// Whether the thread moved items of a queue of the library: it ends when its items do, and not by a word.
    pub(super) moves_items: bool,
    /// The call that created the thread, with its callers.
    pub(super) created_at: Option<SiteId>,
    pub(super) creating: Option<SiteId>,
    /// Where the thread waited for locks, with the callers.
    pub(super) waited_at: BTreeSet<SiteId>,
    pub(super) cpu_ns: Option<u64>,
    pub(super) joins: Vec<Join>,
    /// When the join began that the thread is in, and the thread's last acts before it.
    pub(super) joining: Option<(Ticks, LastActs)>,
    pub(super) acts: LastActs,
    /// The place of the wait that the thread is in, or was in last.
    pub(super) waits_at: SiteId,
    /// The thread that ended this thread's last wait by a signal, a wake or a post, and when it did.
    pub(super) told: Option<(ThreadIndex, Ticks)>,
}

impl Life {
    /// Follows the locks that the thread holds. Returns the place to which an event of the thread
    /// comes, if that may be where a loop goes round.
    pub(super) fn goes_to(&mut self, what: &What) -> Option<LoopPoint> {
        match *what {
            What::Acquire { .. } | What::Acquired { .. } => self.held += 1,
            What::Release { site, .. } => {
                self.held = self.held.saturating_sub(1);
                return (self.held == 0).then_some(LoopPoint::Release(site));
            }
            What::Blocked { site, .. } if self.held == 0 => return Some(LoopPoint::Blocked(site)),
            What::CondWait { site, .. } | What::FutexWait { site, .. } | What::SemWait { site, .. } => {
                self.waits_at = site;
            }
            What::CondWake { reason: WakeReason::TimedOut, .. }
            | What::FutexWaitEnd { end: FutexEnd::TimedOut, .. }
            | What::SemTimeout { .. }
                if self.held == 0 =>
            {
                return Some(LoopPoint::TimedOut(self.waits_at));
            }
            _ => {}
        }
        None
    }

    /// Whether the thread has come to the place of this call once, with no lock held.
    fn came_once(&self, what: &What) -> bool {
        let What::Called { site, .. } = *what else { return false };
        self.places.get(&LoopPoint::Blocked(site)).is_some_and(|visits| visits.count == 1)
    }

    /// Follows the thread's acts. `over`: whether this is the end of a join, of a thread that had ended
    /// before the join began.
    pub(super) fn acted(&mut self, what: &What, now: Ticks, over: bool) {
        if what.is_act() {
            self.acts.step(what, now, self.came_once(what), over);
        }
    }

    pub(super) fn came_to(&mut self, place: LoopPoint, now: Ticks, lock: Option<SiteId>) {
        let new = || Visits { count: 0, first: now, last: now, longest: Ticks(0), locks: BTreeSet::new() };
        let visits = self.places.entry(place).or_insert_with(new);
        let until = self.until.unwrap_or(now);
        if visits.last > until {
            return;
        }
        visits.locks.extend(lock);
        visits.count += u64::from(now <= until);
        visits.longest = visits.longest.max(now.since(visits.last));
        visits.last = now;
    }

    /// The place that the thread came to most often, and the longest turn; `None` if the thread made fewer
    /// than [`TURNS`] turns. Places count for the longest turn to which the thread came as often, or once
    /// less: the last turn may have ended at one of them alone. A loop that waits with a deadline comes to
    /// the place of that wait, though a signal ends the last wait.
    pub(super) fn turns(&self) -> Option<(LoopPoint, Ticks)> {
        let waits = |place: &LoopPoint| u64::from(matches!(place, LoopPoint::TimedOut(_)));
        let most = self.places.iter().max_by_key(|(place, visits)| visits.count + waits(place))?;
        let each_turn = self.places.values().filter(|visits| visits.count > TURNS && visits.count + 1 >= most.1.count);
        let longest = each_turn.map(|visits| visits.longest).max()?;
        (most.1.count > TURNS).then_some((*most.0, longest))
    }

    /// The mean time between two visits to the place that the thread came to most often, if it made
    /// [`TURNS`] turns.
    pub(super) fn usual_turn(&self) -> Option<Ticks> {
        let visits = &self.places[&self.turns()?.0];
        Some(Ticks(visits.last.since(visits.first).0 / (visits.count - 1)))
    }

    /// Whether both threads come to one place in the code and, as far as is known, do the same
    /// thing there. Only places count to which this thread came at least `least` times.
    fn shares_a_place_with(&self, other: &Life, least: u64) -> bool {
        let created_alike = match (self.created_at, other.created_at) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        };
        let callers_differ = are_apart(&self.waited_at, &other.waited_at);
        let shares = |(place, visits): (&LoopPoint, &Visits)| match other.places.get(place) {
            _ if visits.count < least => false,
            Some(theirs) => created_alike || !(callers_differ || are_apart(&visits.locks, &theirs.locks)),
            None => false,
        };
        self.places.iter().any(shares)
    }

    /// Whether the threads are peers. Threads that came to no place at all cannot be told apart, so
    /// they count as peers.
    pub(super) fn is_peer_of(&self, other: &Life) -> bool {
        (self.places.is_empty() && other.places.is_empty()) || self.shares_a_place_with(other, 0)
    }

    /// Whether the thread's loop comes to a place to which the thread that ends it comes as well, or both
    /// share one work. What the thread does once, behind its loop, does not count.
    pub(super) fn goes_round_with(&self, joiner: &Life) -> bool {
        self.shares_a_place_with(joiner, if self.turns().is_some() { TURNS + 1 } else { 0 })
            || self.shares_a_lock_with(joiner)
    }

    /// Whether the loops of both threads take the same lock, and about as often: the compiler may have
    /// copied the function of their common work, so that they come to different places in it.
    fn shares_a_lock_with(&self, other: &Life) -> bool {
        let alike = |mine: u64, theirs: u64| mine <= 2 * theirs && theirs <= 2 * mine;
        self.releases_in_loops().any(|mine| {
            let theirs = || other.releases_in_loops().filter(|theirs| alike(mine.count, theirs.count));
            theirs().any(|theirs| !mine.locks.is_disjoint(&theirs.locks))
        })
    }

    /// The places at which the thread released locks in loops.
    fn releases_in_loops(&self) -> impl Iterator<Item = &Visits> {
        let is_loop =
            |(place, visits): &(&LoopPoint, &Visits)| visits.count > TURNS && matches!(place, LoopPoint::Release(_));
        self.places.iter().filter(is_loop).map(|(_, visits)| visits)
    }
}

/// Whether both sets have members, and none in common.
fn are_apart(mine: &BTreeSet<SiteId>, theirs: &BTreeSet<SiteId>) -> bool {
    !mine.is_empty() && !theirs.is_empty() && mine.is_disjoint(theirs)
}
