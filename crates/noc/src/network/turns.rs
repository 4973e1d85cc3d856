//! Round-robin turns over virtual channels and over the classes of a source.

use super::flit::Flit;
use crate::rng::Rng;
use crate::routing::Choice;

/// Returns the first member of `set` at or after `start`, wrapping round.
#[inline]
pub(crate) fn next_in_turn(set: u64, start: u32) -> usize {
    let after = set & (u64::MAX << (start & 63));
    (if after != 0 { after } else { set }).trailing_zeros() as usize
}

/// Returns the bit set of the virtual channels of `class`, where each class has `a_class` of them.
#[inline(always)]
pub(crate) fn channels_of(class: usize, a_class: u32) -> u64 {
    (u64::MAX >> (64 - a_class)) << (class as u32 * a_class)
}

/// Iterates over the classes of a source that have a packet, in round-robin order.
pub(crate) struct Turns {
    /// Classes with a packet, from the class whose turn it is upward.
    now: u8,
    /// Classes with a packet below the class whose turn it is; they come after `now`.
    later: u8,
}

impl Turns {
    #[inline(always)]
    pub(crate) fn new(pending: u8, turn: u8) -> Turns {
        let from = u8::MAX << turn;
        Turns { now: pending & from, later: pending & !from }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.now == 0 {
            self.now = std::mem::take(&mut self.later);
        }
        let class = self.now.trailing_zeros() as usize;
        self.now &= self.now.wrapping_sub(1);
        (class < 8).then_some(class)
    }
}

/// Returns the class whose turn comes after `class`.
#[inline(always)]
pub(crate) fn next_class(class: usize, classes: usize) -> u8 {
    if class + 1 == classes { 0 } else { class as u8 + 1 }
}

/// Writes into a head flit what the routing chooses at the source: one of two tables, or an
/// intermediate node.
#[inline]
pub(crate) fn choose_way(flit: Flit, choice: Choice, rng: &mut Rng, nodes: u32) -> Flit {
    match choice {
        Choice::None | Choice::Port { .. } => flit,
        Choice::Table if rng.next_u64() >> 63 == 1 => flit.phased(),
        Choice::Table => flit,
        Choice::Intermediate => {
            let between = rng.below(u64::from(nodes)) as u32;
            Flit::new(flit.slot() as u32, between, flit.network() as u8, true, flit.tail())
        }
    }
}
