//! Waits that watch a line. A thread that spins on a line that its core holds reads the same value over and over until
//! the line is taken away, so its tries need no events: when the line goes, or when the wait is bounded, the tries that
//! fitted in are counted and the thread runs on exactly where it would have been.

use baton_memory::Line;
use baton_units::CoreId;

/// Tries that are complete at `now`, of those since the clock changed last, and the end of a hit that is in flight.
pub(crate) fn progress(spin: &Spin, now: u64) -> (u64, Option<u64>) {
    if now < spin.first {
        return if now < spin.busy { (0, Some(spin.busy)) } else { (spin.carried(), None) };
    }
    let turn = (now - spin.first) / spin.period;
    let (issued, done) = (spin.first + turn * spin.period, spin.carried() + turn);
    if now < issued + spin.hit { (done, Some(issued + spin.hit)) } else { (done + 1, None) }
}

/// A spinning wait whose tries are not simulated one by one. Try `i` is issued at `first + i * period` and hits
/// `hit` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    pub(crate) line: Line,
    /// The core that tries; the thread may have another when it runs on.
    pub(crate) core: CoreId,
    pub(crate) first: u64,
    pub(crate) period: u64,
    pub(crate) hit: u64,
    /// What lies between two tries, in cycles of the core, for when its clock changes.
    pub(crate) between: u64,
    /// Tries at most, from here on, and when they must end.
    pub(crate) most: u64,
    pub(crate) deadline: u64,
    /// Tries that were done before the clock changed last.
    pub(crate) before: u64,
    /// The end of a try that was under way then; 0: none was.
    pub(crate) busy: u64,
    /// Tries done when the coroutine runs on.
    pub(crate) done: u64,
    /// The last of them is a hit whose value is to be read now. Otherwise the next try is to be issued now.
    pub(crate) hits: bool,
}

impl Spin {
    /// A pause: the next try is issued at `first`, and no try is counted before.
    pub(crate) fn pause(core: CoreId, first: u64) -> Spin {
        Spin {
            line: Line(0),
            core,
            first,
            period: u64::MAX,
            hit: 0,
            between: 0,
            most: u64::MAX,
            deadline: u64::MAX,
            before: 0,
            busy: 0,
            done: 0,
            hits: false,
        }
    }

    /// One if a try was under way when the clock changed last: it is the first of those that are counted from there.
    #[inline(always)]
    fn carried(&self) -> u64 {
        u64::from(self.busy != 0)
    }

    /// When the try behind `done` of them is issued.
    #[inline]
    pub(crate) fn issue(&self, done: u64) -> u64 {
        self.first + (done - self.carried()) * self.period
    }

    /// How many tries there are, with nothing in between: as many as are left, or up to the first that ends at or after
    /// the deadline. [`u64::MAX`]: without end.
    pub(crate) fn tries(&self) -> u64 {
        let until_deadline = match self.deadline {
            u64::MAX => u64::MAX,
            deadline if self.busy >= deadline => 1,
            deadline => deadline.saturating_sub(self.first + self.hit).div_ceil(self.period) + 1 + self.carried(),
        };
        self.most.min(until_deadline)
    }

    /// When the last of `tries` tries ends.
    pub(crate) fn last_end(&self, tries: u64) -> u64 {
        match tries - self.carried() {
            0 => self.busy,
            further => (further - 1).saturating_mul(self.period).saturating_add(self.first + self.hit),
        }
    }
}
