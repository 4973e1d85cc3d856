//! A lane: blocks in the order of time, exact ones and mixed ones.

use crate::intervals::Interval;

/// What a thread does, as the timeline colours it. What is none of these is work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Holds a lock.
    Hold = 0,
    /// Waits while no thread holds the lock.
    Overhead = 1,
    /// Waits, spinning, while another holds it.
    Spin = 2,
    /// Waits, sleeping at least in part, while another holds it.
    Sleep = 3,
    /// Waits; how is not known.
    Wait = 4,
    /// Waits for something other than a lock.
    Other = 5,
    /// Ready to run, without a CPU.
    Ready = 6,
    /// Blocked outside of what the trace shows.
    Blocked = 7,
    /// Off its CPU, why is not known.
    Off = 8,
}

/// How many states there are.
pub(super) const STATES: usize = 9;

/// One stretch in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) state: State,
    /// Lock or other object; the owner on a lock's lane.
    pub(super) object: Option<u32>,
}

impl Piece {
    pub(super) fn of(interval: &Interval, state: State, object: Option<u32>) -> Piece {
        Piece { start: interval.start.0, end: interval.end.0, state, object }
    }
}

/// One piece, or several with the gaps between them.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Time in each state.
    pub(super) times: [u64; STATES],
    /// How many pieces.
    pub(super) pieces: u64,
    /// State and object of the longest piece.
    pub(super) state: State,
    pub(super) object: Option<u32>,
    longest: u64,
}

/// A lane.
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

    /// Adds a piece that begins at or after the end of the last one (what overlaps is cut). True if it made a block.
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

    /// Merges neighbours that together are no longer than `below`.
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
            let state = if i % 2 == 0 { State::Hold } else { State::Spin };
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
