//! Figure 10's segment: in how many fewer cycles the run with marks does the same work, and what
//! its threads did.

use super::window::{Shares, Window};
use crate::kit::reduction;

/// The paper's window, in cycles.
pub(super) const CYCLES: u64 = 3000;

/// The figures of a segment over one length, ours or those of the paper's figure 10. All shares,
/// also those with marks, are of the length without marks. Work and sections take as many cycles
/// with marks as without, so the segment is shorter by as many cycles as are blocked less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Shares without marks.
    pub(super) off: Shares,
    /// Shares with marks, until the same work is done.
    pub(super) on: Shares,
    /// The cycle at which the run with marks has done the same work.
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

    /// The reduction of blocked time by marks, in percent of the blocked time without marks.
    pub(super) fn less_blocked(&self) -> f64 {
        reduction(blocked(&self.off), blocked(&self.on))
    }
}

/// The share of time in which threads wait, for a lock that another thread holds or for a free
/// lock.
pub(super) fn blocked(shares: &Shares) -> f64 {
    shares[2] + shares[3]
}
