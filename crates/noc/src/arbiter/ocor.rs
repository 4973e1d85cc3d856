//! OCOR's arbiter: lock and wake-up requests by progress and remaining tries (paper 1, sections 4.1 and 4.2, table 1).
//!
//! The rules, in order: among marked packets the slower progress first; marked before unmarked; the higher level
//! (fewer tries left) first, and a wake-up, whose level is the lowest, last. Rule 1 can only compare marked packets,
//! as unmarked ones carry no progress. Ties among marked packets are broken by chance, as the paper has it, or in turn;
//! unmarked packets go round robin, so that a network without marks behaves exactly as the baseline does.
//!
//! Rules 1, 3 and 4 are switched off where packets are marked: no progress, one level, no level of their own for wake-ups.
//! Rule 2 is the arbiter's own.

use super::{Arbiter, Contender, RoundRobin, smallest};
use crate::packet::Header;

/// The priority arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ocor {
    /// Whether a marked speculative bid takes the place of an unmarked non-speculative one: see
    /// [`crate::Config::mark_outranks_speculation`].
    pub outranks_speculation: bool,
    /// Rule 2: see [`crate::Config::marked_first`].
    pub marked_first: bool,
    /// See [`crate::Config::random_ties`].
    pub random_ties: bool,
}

impl Default for Ocor {
    /// As the paper has it, and a mark outranks speculation.
    fn default() -> Ocor {
        Ocor { outranks_speculation: true, marked_first: true, random_ties: true }
    }
}

impl Ocor {
    /// The one that a configuration describes.
    pub fn of(config: &crate::Config) -> Ocor {
        Ocor {
            outranks_speculation: config.mark_outranks_speculation,
            marked_first: config.marked_first,
            random_ties: config.random_ties,
        }
    }
}

const UNMARKED: u64 = 1 << 63;

/// (progress, level) of a marked packet in front of 39 bits of chance.
#[inline]
fn order(header: Header) -> u64 {
    (u64::from(header.progress) << 8 | u64::from(header.level)) << 39
}

impl Arbiter for Ocor {
    type State = u16;

    fn state(&self, requesters: usize) -> u16 {
        RoundRobin.state(requesters)
    }

    #[inline]
    fn key(&self, pointer: &u16, requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        let c = who();
        let turn = RoundRobin.key(pointer, requester, || c);
        match (c.header.marked, self.random_ties) {
            (true, true) => order(c.header) | (c.draw >> 25),
            (true, false) => order(c.header) | turn,
            // Without rule 2 a coin says whether an unmarked packet stands before all marked ones or behind.
            (false, _) if !self.marked_first && c.draw & 1 == 0 => turn,
            (false, _) => UNMARKED | turn,
        }
    }

    #[inline]
    fn pick(&self, pointer: &u16, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
        // Nearly always nobody is marked, or one is; neither needs a key.
        let (mut marked, mut rest) = (0, set);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            marked |= u64::from(who(bit).header.marked) << bit;
        }
        if !self.marked_first {
            return smallest(set, |bit| self.key(pointer, bit >> shift, || who(bit)));
        }
        match (marked, marked & marked.wrapping_sub(1)) {
            (0, _) => RoundRobin.pick(pointer, set, shift, who),
            (_, 0) => marked.trailing_zeros(),
            _ => smallest(marked, |bit| self.key(pointer, bit >> shift, || who(bit))),
        }
    }

    #[inline]
    fn won(&self, pointer: &mut u16, requester: u32) {
        RoundRobin.won(pointer, requester);
    }

    const RANKS: bool = true;

    fn rank(&self, who: Contender) -> u64 {
        match (self.outranks_speculation && self.marked_first, who.header.marked) {
            (false, _) => 0,
            (true, true) => order(who.header),
            (true, false) => UNMARKED,
        }
    }
}

/// The local priority arbiter of one input port (paper 1, figure 9), as a function of its virtual channels' headers:
/// the highest one-hot level among the marked packets, and one bit a channel that says who carries it (first channel
/// leftmost). `None` where no channel holds a marked packet.
///
/// The router computes the same by comparing keys; this form states the contract and serves tests and pictures.
pub fn local_priority(headers: &[Option<Header>], levels: u8) -> Option<(String, String)> {
    let marked = |h: &Option<Header>| h.filter(|h| h.marked);
    let best = headers.iter().filter_map(marked).map(order).min()?;
    let holds = |h: &Option<Header>| marked(h).is_some_and(|h| order(h) == best);
    let level = headers.iter().find(|h| holds(h)).copied().flatten()?.one_hot(levels);
    let index = headers.iter().map(|h| if holds(h) { '1' } else { '0' }).collect();
    Some((level, index))
}
