//! Which threads that another thread joined are background threads.

use super::life::{Join, Life};
use super::walk::Walk;
use super::{Background, LoopPoint, is_named};
use crate::clock::Ticks;
use crate::event::ThreadIndex;
use crate::trace::Trace;

/// Threads that end this many usual turns apart were not told to end together.
pub(super) const APART: u64 = 8;
/// A thread that came to no place in the code counts as a background thread if it was on a CPU for
/// less than 1/`ASLEEP` of its life, and ended less than 1/`ASLEEP` of its life after the joiner
/// came.
const ASLEEP: u64 = 10;

impl Walk {
    /// The row of peers that the joiner joined one after the other, of which this join is one. The
    /// joiner came for all of them at the first join of the row.
    fn row(&self, joiner: ThreadIndex, number: usize) -> &[Join] {
        let joins = &self.life(joiner).joins;
        let child = self.life(joins[number].child);
        let is_peer = |join: &Join| self.life(join.child).is_peer_of(child);
        let mut first = number;
        while joins[first].follows && first > 0 && is_peer(&joins[first - 1]) {
            first -= 1;
        }
        let after = joins[number + 1..].iter().take_while(|join| join.follows && is_peer(join)).count();
        &joins[first..=number + after]
    }

    pub(super) fn judge(&self, trace: &Trace, joiner: ThreadIndex, number: usize) -> Option<Background> {
        let join = &self.life(joiner).joins[number];
        let (thread, life) = (join.child, self.life(join.child));
        let (began, ended) = (life.began?, life.ended?);
        let ends = trace.meta.as_ref().map(|meta| &meta.ends);
        let turns = life.turns();
        let turns_at = turns.map(|(place, _)| place);
        // The joiner may have told the thread to end before it came to join it.
        let waits = matches!(turns_at, Some(LoopPoint::TimedOut(_)));
        let told = life.told.filter(|(by, _)| waits && *by == joiner).map(|(_, time)| time);
        let came_by = |begin: Ticks| told.map_or(begin, |told| told.min(begin));
        if ended <= came_by(join.begin) || ends.is_some_and(|ends| is_named(&ends.until, trace, thread)) {
            return None;
        }
        let found = |came| Background { thread, joiner, came, ended, joined: true, turns_at };
        if ends.is_some_and(|ends| is_named(&ends.background, trace, thread)) {
            return Some(found(came_by(join.begin)));
        }
        if life.moves_items {
            return None;
        }
        let row = self.row(joiner, number);
        let came = came_by(row[0].begin);
        let tail = ended.since(came);
        let soon = match turns {
            Some((_, longest)) => tail <= longest,
            None => {
                let all = ended.since(began);
                let on_cpu = trace.clock.ticks(baton_units::Nanos(life.cpu_ns?));
                life.places.is_empty() && on_cpu < all.0 / ASLEEP && tail.0 < all.0 / ASLEEP
            }
        };
        let is_told = soon && !life.goes_round_with(self.life(joiner)) && !self.works(row, life);
        is_told.then(|| found(came))
    }

    /// Whether a thread of the row was at work rather than told to end: one that the same call created as
    /// `life`'s thread. It ended before the joiner came and long before `life`'s thread, or it went on
    /// for more than a turn.
    fn works(&self, row: &[Join], life: &Life) -> bool {
        let (Some(ended), Some(turn)) = (life.ended, life.usual_turn()) else { return false };
        let (came, created_at) = (row[0].begin, life.created_at);
        let created_alike = |peer: &&Life| created_at.is_some() && peer.created_at == created_at;
        row.iter().map(|join| self.life(join.child)).filter(created_alike).any(|peer| match peer.ended {
            Some(end) if end <= came => ended.since(end).0 > APART * turn.0,
            Some(end) => peer.turns().is_some_and(|(_, longest)| end.since(came) > longest),
            None => false,
        })
    }
}
