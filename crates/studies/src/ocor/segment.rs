//! Figure 10's segment: how far the run with marks gets in fewer cycles, and what its threads did.

use super::window::{Shares, Window};
use crate::kit::reduction;

/// The paper's window, in cycles.
pub(super) const CYCLES: u64 = 3000;

/// What the paper's figure 10 gives, and ours over one length. All shares are of the original's length, in both runs: work and
/// sections are as many cycles with marks as without, so that what is blocked less is what the segment is shorter by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Shares without marks.
    pub(super) off: Shares,
    /// Shares with marks, until the same work is done.
    pub(super) on: Shares,
    /// When that is.
    pub(super) cycles: u64,
}

impl Segment {
    /// The segment of both runs up to `end` of the run without marks; `None` if the run with marks
    /// never gets that far.
    pub(super) fn of(off: &Window, on: &Window, end: u64) -> Option<Segment> {
        let cycles = on.as_far_as(off, end)?;
        let of_original = cycles as f64 / end.max(1) as f64;
        Some(Segment { off: off.shares(end), on: on.shares(cycles).map(|share| share * of_original), cycles })
    }

    /// How much less is blocked, in percent of what was.
    pub(super) fn less_blocked(&self) -> f64 {
        reduction(blocked(&self.off), blocked(&self.on))
    }
}

/// Blocked, in others' sections or while the lock is free.
pub(super) fn blocked(shares: &Shares) -> f64 {
    shares[2] + shares[3]
}
