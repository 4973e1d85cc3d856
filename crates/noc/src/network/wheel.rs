//! A timing wheel: the events of the next few cycles, one row per cycle.
//!
//! A channel carries at most one flit and one credit per cycle, always with the same delay, so a
//! row holds at most one event per channel. Rows have that size from the start and never grow.

use super::table::Table;

/// A timing wheel with events of type `E`: numbers of virtual channels, or flits with them.
#[derive(Clone, Debug)]
pub(crate) struct Wheel<E> {
    events: Table<E>,
    len: Table<u32>,
    row: usize,
    mask: u64,
}

impl<E: Copy + Default> Wheel<E> {
    /// Creates a wheel for delays up to `horizon` cycles and `row` events per cycle.
    pub(crate) fn new(horizon: u64, row: usize) -> Wheel<E> {
        let rows = (horizon + 1).next_power_of_two();
        Wheel {
            events: vec![E::default(); rows as usize * row].into(),
            len: vec![0; rows as usize].into(),
            row,
            mask: rows - 1,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: u64, event: E) {
        let slot = (at & self.mask) as usize;
        let n = &mut self.len[slot];
        self.events[slot * self.row + *n as usize] = event;
        *n += 1;
    }

    /// Opens the row of cycle `at`, which must be empty, for writing all of its events.
    /// [`Wheel::close`] must follow.
    #[inline(always)]
    pub(crate) fn open(&mut self, at: u64) -> Row<'_, E> {
        let slot = (at & self.mask) as usize;
        debug_assert_eq!(self.len[slot], 0, "nothing was pushed for this cycle before");
        let events = &mut self.events.as_mut_slice()[slot * self.row..(slot + 1) * self.row];
        Row { free: events.iter_mut(), size: self.row }
    }

    #[inline(always)]
    pub(crate) fn close(&mut self, at: u64, n: usize) {
        self.len[(at & self.mask) as usize] = n as u32;
    }

    /// Takes all events of cycle `at`.
    #[inline(always)]
    pub(crate) fn drain(&mut self, at: u64) -> &[E] {
        let (from, n) = self.take(at);
        &self.events.as_slice()[from..from + n]
    }

    /// Clears the row of cycle `at`. Returns the index of its first event for [`Wheel::get`], and
    /// their number. The events stay readable until the row is written again, one turn of the wheel
    /// later.
    #[inline]
    pub(crate) fn take(&mut self, at: u64) -> (usize, usize) {
        let slot = (at & self.mask) as usize;
        let n = std::mem::take(&mut self.len[slot]) as usize;
        (slot * self.row, n)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> E {
        self.events[index]
    }

    /// Number of events of cycle `at`.
    #[inline(always)]
    pub(crate) fn count(&self, at: u64) -> u32 {
        self.len[(at & self.mask) as usize]
    }

    /// The cycles from `now` on that may have events.
    #[inline(always)]
    pub(crate) fn span(&self, now: u64) -> std::ops::RangeInclusive<u64> {
        now..=now + self.mask
    }

    /// Returns the first cycle from `now` on that has an event.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        self.span(now).find(|at| self.count(*at) > 0)
    }

    /// Yields every event in the wheel.
    pub(crate) fn iter(&self) -> impl Iterator<Item = E> + '_ {
        let row = self.row;
        (0..self.len.len()).flat_map(move |s| (s * row..s * row + self.len[s] as usize).map(|k| self.events[k]))
    }
}

/// One row of a wheel, open for writing.
#[derive(Debug)]
pub(crate) struct Row<'a, E> {
    free: std::slice::IterMut<'a, E>,
    size: usize,
}

impl<E> Row<'_, E> {
    #[inline(always)]
    pub(crate) fn push(&mut self, event: E) {
        debug_assert!(self.free.len() > 0, "one event a channel and cycle");
        // SAFETY: a row has a place for each channel, and a channel carries one flit and one credit
        // per cycle, as the module's documentation says; the assertion above checks it in debug
        // builds.
        *unsafe { self.free.next().unwrap_unchecked() } = event;
    }

    /// Number of events written so far, for [`Wheel::close`].
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.size - self.free.len()
    }
}
