//! A lane: blocks in the order of time, some exact and some mixed.

use crate::intervals::Interval;

/// What a thread does, as the timeline colours it. Time in none of these states is work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LaneState {
    /// The thread holds a lock.
    Hold = 0,
    /// The thread waits while no thread holds the lock.
    Overhead = 1,
    /// The thread spins while another thread holds the lock.
    Spin = 2,
    /// The thread waits while another thread holds the lock, and sleeps for at least a part of the
    /// wait.
    Sleep = 3,
    /// The thread waits for a lock, and the trace does not say whether it spins or sleeps, or the
    /// wait ends without the lock.
    Wait = 4,
    /// The thread waits for something other than a lock.
    Other = 5,
    /// The thread is ready to run, without a CPU.
    Ready = 6,
    /// The thread is blocked in a call for input, output or sleep, in Baton's own recorder, or by
    /// something that the trace does not show.
    Blocked = 7,
    /// The thread is off its CPU for an unknown reason.
    Off = 8,
}

/// The number of states.
pub(super) const STATES: usize = 9;

/// A stretch of time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) state: LaneState,
    /// The lock or other object; on the lane of a lock, the thread that owns it.
    pub(super) object: Option<u32>,
}

impl Piece {
    pub(super) fn of(interval: &Interval, state: LaneState, object: Option<u32>) -> Piece {
        Piece { start: interval.start.0, end: interval.end.0, state, object }
    }
}

/// A block: one piece, or several pieces with the gaps between them.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The time in each state.
    pub(super) times: [u64; STATES],
    /// The number of pieces.
    pub(super) pieces: u64,
    /// The state of the longest piece.
    pub(super) state: LaneState,
    pub(super) object: Option<u32>,
    longest: u64,
}

#[derive(Default)]
pub(super) struct Lane {
    pub(super) blocks: Vec<Block>,
}

impl Block {
    fn of(piece: Piece) -> Block {
        let length = piece.end - piece.start;
        let mut times = [0; STATES];
        times[piece.state as usize] = length;
        let Piece { start, end, state, object } = piece;
        Block { start, end, times, pieces: 1, state, object, longest: length }
    }

    fn absorb(&mut self, next: &Block) {
        self.end = next.end;
        self.pieces += next.pieces;
        for (time, more) in self.times.iter_mut().zip(next.times) {
            *time += more;
        }
        if next.longest > self.longest {
            (self.longest, self.state, self.object) = (next.longest, next.state, next.object);
        }
    }
}

impl Lane {
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a piece. If it overlaps the previous one, the overlap is cut off. Returns whether the
    /// piece became a block of its own.
    pub(super) fn add(&mut self, mut piece: Piece, merge_below: u64) -> bool {
        let end = self.blocks.last().map_or(0, |b| b.end);
        piece.start = piece.start.max(end);
        if piece.end <= piece.start {
            return false;
        }
        let block = Block::of(piece);
        match self.blocks.last_mut() {
            Some(last) if block.end - last.start <= merge_below => {
                last.absorb(&block);
                false
            }
            _ => {
                self.blocks.push(block);
                true
            }
        }
    }

    /// Merges neighbouring blocks that together are at most `below` long.
    pub(super) fn merge(&mut self, below: u64) {
        self.blocks.dedup_by(|next, kept| {
            let fits = next.end - kept.start <= below;
            if fits {
                kept.absorb(next);
            }
            fits
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_time_and_leaves_long_blocks_alone() {
        let mut lane = Lane::default();
        for i in 0..100u64 {
            let long = if i == 50 { 10_000 } else { 10 };
            let start = i * 20 + if i > 50 { 10_000 } else { 0 };
            let state = if i % 2 == 0 { LaneState::Hold } else { LaneState::Spin };
            assert!(lane.add(Piece { start, end: start + long, state, object: Some(i as u32) }, 0));
        }
        let total = |lane: &Lane| lane.blocks.iter().flat_map(|b| b.times).sum::<u64>();
        let before = total(&lane);
        lane.merge(256);
        assert_eq!(total(&lane), before);
        assert!(lane.len() < 15, "{}", lane.len());
        let exact: Vec<&Block> = lane.blocks.iter().filter(|b| b.pieces == 1).collect();
        assert!(exact.iter().any(|b| b.end - b.start == 10_000 && b.object == Some(50)));
        assert!(lane.blocks.windows(2).all(|w| w[0].end <= w[1].start));
    }
}
