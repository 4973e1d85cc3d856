//! OCOR's marks (Yao and Lu, ISCA 2016, sections 4.1 and 4.2, table 1) as ranks. OCOR is one
//! mechanism that writes headers. Nothing else in the network depends on it; another mechanism
//! makes its own ranks in a file like this one.
//!
//! OCOR's rules, in order: (1) among marked packets, the one with slower progress goes first; (2)
//! marked packets go before unmarked ones; (3) the higher level (fewer tries left) goes first; (4)
//! a wake-up, whose level is the lowest, goes last. Rule 1 can only compare marked packets, because
//! unmarked ones carry no progress. The code that marks packets can switch off rules 1, 3 and 4: by
//! writing no progress, a single level, or no separate level for wake-ups. Rule 2 and ties are
//! decided by [`crate::arbiter::Ranked`].

use crate::rank::Rank;

/// The fields of a marked packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Position of the one bit that is set in the one-hot level; 0 is the highest priority.
    pub level: u8,
    /// Progress of the sending thread; the smaller (slower) goes first.
    pub progress: u16,
}

impl Mark {
    /// Returns the mark's rank: marked packets are ordered by progress, then by level.
    #[inline]
    pub const fn rank(self) -> Rank {
        Rank::new((self.progress as u32) << 8 | self.level as u32)
    }

    /// Returns the mark from which a rank was made; `None` if there is no rank.
    pub fn of(rank: Rank) -> Option<Mark> {
        rank.get().map(|rank| Mark { level: rank as u8, progress: (rank >> 8) as u16 })
    }

    /// Returns the level as the paper writes it: `levels` digits, the highest priority leftmost,
    /// such as `"010"`.
    pub fn one_hot(self, levels: u8) -> String {
        (0..levels).map(|level| if level == self.level { '1' } else { '0' }).collect()
    }
}

/// The local priority arbiter of one input port (figure 9), as a function of its virtual channels'
/// marks. Returns the highest-priority one-hot level among the marked packets, and one digit per
/// channel that says whether the channel holds a packet with the best mark (first channel
/// leftmost). Returns `None` if no channel holds a marked packet.
///
/// The router computes the same by comparing ranks; this form states the contract and serves tests
/// and pictures.
pub fn local_priority(marks: &[Option<Mark>], levels: u8) -> Option<(String, String)> {
    let rank = |mark: Mark| mark.rank().get();
    let best = marks.iter().flatten().copied().min_by_key(|mark| rank(*mark))?;
    let holds = |mark: &Option<Mark>| *mark == Some(best);
    Some((best.one_hot(levels), marks.iter().map(|mark| if holds(mark) { '1' } else { '0' }).collect()))
}
