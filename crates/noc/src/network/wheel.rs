//! A timing wheel: events of the next few cycles, one row a cycle.
//!
//! A channel carries at most one flit and one credit a cycle, always with the same delay, so a row holds at most one
//! event a channel: rows have that size from the start and never grow.

/// Events are indices of virtual channels.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    events: Vec<u32>,
    len: Vec<u32>,
    row: usize,
    mask: u64,
    pending: usize,
}

impl Wheel {
    /// A wheel for delays up to `horizon` cycles and `row` events a cycle.
    pub(crate) fn new(horizon: u64, row: usize) -> Wheel {
        let rows = (horizon + 1).next_power_of_two();
        Wheel { events: vec![0; rows as usize * row], len: vec![0; rows as usize], row, mask: rows - 1, pending: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: u64, event: u32) {
        let slot = (at & self.mask) as usize;
        let n = &mut self.len[slot];
        self.events[slot * self.row + *n as usize] = event;
        *n += 1;
        self.pending += 1;
    }

    /// How many events `at` has; [`Wheel::get`] gives them. Clears the row, whose events stay readable until the
    /// next push one turn later.
    #[inline]
    pub(crate) fn take(&mut self, at: u64) -> (usize, usize) {
        let slot = (at & self.mask) as usize;
        let n = std::mem::take(&mut self.len[slot]) as usize;
        self.pending -= n;
        (slot * self.row, n)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> u32 {
        self.events[index]
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// The first cycle from `now` on that has an event.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        (!self.is_empty()).then(|| (now..=now + self.mask).find(|t| self.len[(t & self.mask) as usize] > 0)).flatten()
    }

    /// Every event under way, with its channel.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let row = self.row;
        (0..self.len.len()).flat_map(move |s| self.events[s * row..s * row + self.len[s] as usize].iter().copied())
    }
}
