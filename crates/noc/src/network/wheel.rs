//! A timing wheel: events of the next few cycles, one row a cycle.
//!
//! A channel carries at most one flit and one credit a cycle, always with the same delay, so a row holds at most one
//! event a channel: rows have that size from the start and never grow.

use super::table::Table;

/// Events are numbers of virtual channels, one or a pair.
#[derive(Clone, Debug)]
pub(super) struct Wheel<E> {
    events: Table<E>,
    len: Table<u32>,
    row: usize,
    mask: u64,
}

impl<E: Copy + Default> Wheel<E> {
    /// A wheel for delays up to `horizon` cycles and `row` events a cycle.
    pub(super) fn new(horizon: u64, row: usize) -> Wheel<E> {
        let rows = (horizon + 1).next_power_of_two();
        Wheel {
            events: vec![E::default(); rows as usize * row].into(),
            len: vec![0; rows as usize].into(),
            row,
            mask: rows - 1,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, at: u64, event: E) {
        let slot = (at & self.mask) as usize;
        let n = &mut self.len[slot];
        self.events[slot * self.row + *n as usize] = event;
        *n += 1;
    }

    /// How many events `at` has; [`Wheel::get`] gives them. Clears the row, whose events stay readable until the
    /// next push one turn later.
    #[inline]
    pub(super) fn take(&mut self, at: u64) -> (usize, usize) {
        let slot = (at & self.mask) as usize;
        let n = std::mem::take(&mut self.len[slot]) as usize;
        (slot * self.row, n)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> E {
        self.events[index]
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.len.iter().all(|n| *n == 0)
    }

    /// The first cycle from `now` on that has an event.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        (!self.is_empty()).then(|| (now..=now + self.mask).find(|t| self.len[(t & self.mask) as usize] > 0)).flatten()
    }

    /// Every event under way, with its channel.
    pub(super) fn iter(&self) -> impl Iterator<Item = E> + '_ {
        let row = self.row;
        (0..self.len.len()).flat_map(move |s| (s * row..s * row + self.len[s] as usize).map(|k| self.events[k]))
    }
}
