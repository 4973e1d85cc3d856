//! OCOR's marks (Yao and Lu, ISCA 2016, sections 4.1 and 4.2, table 1) as ranks: one mechanism that writes headers. Nothing
//! else in the network knows of it; another mechanism makes its own ranks in a file like this one.
//!
//! The rules, in order: among marked packets the slower progress first; marked before unmarked; the higher level
//! (fewer tries left) first, and a wake-up, whose level is the lowest, last. Rule 1 can only compare marked packets,
//! as unmarked ones carry no progress. Rules 1, 3 and 4 are switched off where packets are marked: no progress, one level, no
//! level of their own for wake-ups. Rule 2 and ties are [`crate::arbiter::Ranked`]'s.

use crate::rank::Rank;

/// The fields of a marked packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Position of the one bit of the one-hot level; 0 is the highest priority.
    pub level: u8,
    /// Progress of the sending thread; smaller (slower) goes first.
    pub progress: u16,
}

impl Mark {
    /// The mark's place in the order of marked packets: by progress, then by level.
    #[inline]
    pub const fn rank(self) -> Rank {
        Rank::new((self.progress as u32) << 8 | self.level as u32)
    }

    /// The mark that a rank was made of.
    pub fn of(rank: Rank) -> Option<Mark> {
        rank.get().map(|rank| Mark { level: rank as u8, progress: (rank >> 8) as u16 })
    }

    /// The level as the paper writes it: `levels` bits, highest priority leftmost, e.g. `"010"`.
    pub fn one_hot(self, levels: u8) -> String {
        (0..levels).map(|level| if level == self.level { '1' } else { '0' }).collect()
    }
}

/// The local priority arbiter of one input port (figure 9), as a function of its virtual channels' marks: the highest one-hot
/// level among the marked packets, and one bit a channel that says which channels carry it (first channel leftmost). `None`
/// where no channel holds a marked packet.
///
/// The router computes the same by comparing ranks; this form states the contract and serves tests and pictures.
pub fn local_priority(marks: &[Option<Mark>], levels: u8) -> Option<(String, String)> {
    let rank = |mark: Mark| mark.rank().get();
    let best = marks.iter().flatten().copied().min_by_key(|mark| rank(*mark))?;
    let holds = |mark: &Option<Mark>| *mark == Some(best);
    Some((best.one_hot(levels), marks.iter().map(|mark| if holds(mark) { '1' } else { '0' }).collect()))
}
