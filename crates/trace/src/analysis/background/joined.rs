//! Which threads that another thread joined are background threads.

use super::life::{Join, Life};
use super::told::{Background, LoopPoint, is_named};
use super::walk::Walk;
use crate::clock::Ticks;
use crate::event::{SiteId, ThreadIndex};
use crate::trace::Trace;

/// Threads that end this many usual turns apart were not told to end together.
pub(super) const APART: u64 = 8;
/// A thread that came to no place in the code counts as a background thread if it was on a CPU for
/// less than 1/`ASLEEP` of its life, and ended less than 1/`ASLEEP` of its life after the joiner
/// came.
pub(super) const ASLEEP: u64 = 10;

/// A thread that seems to be a background thread.
pub(super) struct Found {
    pub(super) background: Background,
    /// Whether the user said so, or the joiner told the thread to end by a signal, a wake or a post.
    pub(super) by_word: bool,
    /// When the joiner began to join the thread.
    pub(super) begin: Ticks,
    /// A thread that the joiner joined before. If that one is no background thread, this one is none
    /// either.
    pub(super) after: Option<ThreadIndex>,
    /// The threads of the row that the same call created: the joiner, the number of the row's first
    /// join, and the call.
    pub(super) group: Option<Group>,
}

/// Threads that one call created, and that their joiner joined in one row, which begins with the join of
/// this number.
pub(super) type Group = (ThreadIndex, usize, SiteId);

impl Walk {
    /// Finds the threads that a joiner joined and that seem to be background threads, in the order of
    /// their joins.
    pub(super) fn joined_by(&self, trace: &Trace, joiner: ThreadIndex) -> Vec<Found> {
        let joins = &self.life(joiner).joins;
        let mut all = Vec::new();
        // The first join of a row of joins that waited for background threads alone.
        let mut first = None;
        for (number, join) in joins.iter().enumerate() {
            first = first.filter(|_| join.acts.follow_a_join());
            match self.judge(trace, joiner, number, first) {
                Some(found) => {
                    first.get_or_insert(number);
                    all.push(found);
                }
                None if self.life(join.child).ended.is_some_and(|ended| ended > join.begin) => first = None,
                None => {}
            }
        }
        all
    }

    /// The row of peers that the joiner joined one after the other, of which this join is one, and the number
    /// of its first join. The joiner came for all of them at that join.
    fn row(&self, joiner: ThreadIndex, number: usize) -> (usize, &[Join]) {
        let joins = &self.life(joiner).joins;
        let child = self.life(joins[number].child);
        let is_peer = |join: &Join| self.life(join.child).is_peer_of(child);
        let mut first = number;
        while joins[first].acts.follow_a_join() && first > 0 && is_peer(&joins[first - 1]) {
            first -= 1;
        }
        let after = joins[number + 1..].iter().take_while(|join| join.acts.follow_a_join() && is_peer(join)).count();
        (first, &joins[first..=number + after])
    }

    /// The threads of a group.
    pub(super) fn members(&self, (joiner, first, created_at): Group) -> impl Iterator<Item = &Join> {
        let joins = &self.life(joiner).joins[first..];
        let row = joins.iter().enumerate().take_while(|(number, join)| *number == 0 || join.acts.follow_a_join());
        row.map(|(_, join)| join).filter(move |join| self.life(join.child).created_at == Some(created_at))
    }

    /// Judges the thread of a join. `first`: the first of the joins right before it, if these waited for
    /// background threads alone.
    fn judge(&self, trace: &Trace, joiner: ThreadIndex, number: usize, first: Option<usize>) -> Option<Found> {
        let joins = &self.life(joiner).joins;
        let join = &joins[number];
        let (thread, life) = (join.child, self.life(join.child));
        let (began, ended) = (life.began?, life.ended?);
        let ends = trace.meta.as_ref().map(|meta| &meta.ends);
        if ends.is_some_and(|ends| is_named(&ends.until, trace, thread)) {
            return None;
        }
        let named = ends.is_some_and(|ends| is_named(&ends.background, trace, thread));
        let turns = life.turns();
        let turns_at = turns.map(|(place, _)| place);
        let longest = turns.map(|(_, longest)| longest);
        // The joiner may have told the thread to end before it came to join it.
        let waits = matches!(turns_at, Some(LoopPoint::TimedOut(_)));
        let told = life.told.filter(|(by, _)| waits && *by == joiner).map(|(_, time)| time);
        let (row_begins, row) = self.row(joiner, number);
        let earliest = &joins[first.unwrap_or(number)];
        let before = |limit| match ended > earliest.begin {
            true => Some(earliest.begin),
            false => earliest.acts.came(ended, earliest.begin, limit),
        };
        let over = ended <= join.begin;
        let came = match told {
            Some(told) if named => told.min(join.begin),
            Some(told) => told.min(row[0].begin),
            None if named => {
                if over {
                    before(Ticks(u64::MAX)).unwrap_or(ended)
                } else {
                    join.begin
                }
            }
            None if over => before(longest?)?,
            None => row[0].begin,
        };
        let group = life.created_at.map(|site| (joiner, row_begins, site));
        let after = first.filter(|_| over && told.is_none()).map(|first| joins[first].child);
        let background = Background { thread, joiner, came, ended, joined: true, turns_at };
        let found = Found { background, by_word: named || told.is_some(), begin: join.begin, after, group };
        if named {
            return Some(Found { after: None, ..found });
        }
        if life.moves_items || ended <= came {
            return None;
        }
        let tail = ended.since(came);
        let soon = match longest {
            Some(longest) => tail <= longest,
            None => {
                let all = ended.since(began);
                let on_cpu = trace.clock.ticks(baton_units::Nanos(life.cpu_ns?));
                life.places.is_empty() && on_cpu < all.0 / ASLEEP && tail.0 < all.0 / ASLEEP
            }
        };
        let is_told = soon
            && !life.goes_round_with(self.life(joiner))
            && !self.works(row, life, if over { came } else { row[0].begin }, first.is_some());
        is_told.then_some(found)
    }

    /// Whether a thread of the row was at work rather than told to end: one that the same call created as
    /// `life`'s thread. It ended before the joiner came and long before `life`'s thread, or it went on
    /// for more than a turn. Several threads for none of which the joiner waited count as at work, too:
    /// equal shares of work end together, when the joiner's own share may end as well. `behind`: whether the
    /// joins of other background threads came right before.
    fn works(&self, row: &[Join], life: &Life, came: Ticks, behind: bool) -> bool {
        let (Some(ended), Some(turn)) = (life.ended, life.usual_turn()) else { return false };
        let alike = |join: &&Join| life.created_at.is_some() && self.life(join.child).created_at == life.created_at;
        let alike = || row.iter().filter(alike);
        let is_over = |join: &Join| self.life(join.child).ended.is_some_and(|end| end <= join.begin);
        if !behind && alike().count() > 1 && alike().all(is_over) {
            return true;
        }
        alike().map(|join| self.life(join.child)).any(|peer| match peer.ended {
            Some(end) if end <= came => ended.since(end).0 > APART * turn.0,
            Some(end) => peer.turns().is_some_and(|(_, longest)| end.since(came) > longest),
            None => false,
        })
    }
}
