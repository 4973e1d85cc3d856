//! Ranks first: packets with a rank in their header go in the order of ranks, the others in
//! round-robin order.
//!
//! Ties among ranked packets are broken by chance or in round-robin order. A network in which no
//! packet has a rank behaves exactly like one with [`RoundRobin`].

use super::contract::{Arbiter, ArbiterInfo, Contender, Registered, smallest};
use super::round_robin::RoundRobin;
use crate::rank::Rank;
use serde::Serialize;

/// The arbiter that honours ranks, with the options that mechanisms which write ranks may want. Its
/// configuration keys are named after the first such mechanism, OCOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ranked {
    /// Whether a ranked packet's speculative bid wins over the non-speculative bid of a packet with
    /// a later rank or none. Has no effect unless `ranked_first` is set too. (Without it, the first
    /// bid of a single-flit request, which is speculative, loses to any body flit.)
    #[serde(rename = "mark_outranks_speculation")]
    pub outranks_speculation: bool,
    /// Whether ranked packets always go before unranked ones. Otherwise a coin decides each cycle
    /// whether an unranked packet goes before all ranked ones or behind them.
    #[serde(rename = "marked_first")]
    pub ranked_first: bool,
    /// Whether chance breaks ties among ranked packets (seeded by [`crate::Config::seed`]) instead
    /// of round robin.
    pub random_ties: bool,
}

impl Default for Ranked {
    fn default() -> Ranked {
        Ranked { outranks_speculation: true, ranked_first: true, random_ties: true }
    }
}

/// Key of packets without a rank, which is larger than all keys of ranked packets.
const UNRANKED: u64 = 1 << 63;

/// Puts `rank` above the low 39 bits of a key, which break ties.
#[inline]
fn order(rank: u32) -> u64 {
    u64::from(rank) << 39
}

impl Registered for Ranked {
    const INFO: ArbiterInfo =
        ArbiterInfo { name: "ocor", what: "packets with a rank first, by it; the others in turns", starves: true };

    fn of(ranked: &Ranked) -> Ranked {
        *ranked
    }
}

impl Arbiter for Ranked {
    type State = u16;

    fn state(&self, requesters: usize) -> u16 {
        RoundRobin.state(requesters)
    }

    #[inline]
    fn key(&self, pointer: &u16, requester: u32, who: impl FnOnce() -> Contender) -> u64 {
        let c = who();
        let turn = RoundRobin.key(pointer, requester, || c);
        match (c.header.rank.get(), self.random_ties) {
            (Some(rank), true) => order(rank) | (c.draw >> 25),
            (Some(rank), false) => order(rank) | turn,
            // A coin decides whether a packet without a rank goes before all ranked ones or behind
            // them.
            (None, _) if !self.ranked_first && c.draw & 1 == 0 => turn,
            (None, _) => UNRANKED | turn,
        }
    }

    #[inline]
    fn pick(&self, pointer: &u16, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
        // Nearly always no packet or exactly one has a rank, and neither case needs a key.
        let (mut ranked, mut rest) = (0, set);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            ranked |= u64::from(who(bit).header.rank != Rank::NONE) << bit;
        }
        if !self.ranked_first {
            return smallest(set, |bit| self.key(pointer, bit >> shift, || who(bit)));
        }
        match (ranked, ranked & ranked.wrapping_sub(1)) {
            (0, _) => RoundRobin.pick(pointer, set, shift, who),
            (_, 0) => ranked.trailing_zeros(),
            _ => smallest(ranked, |bit| self.key(pointer, bit >> shift, || who(bit))),
        }
    }

    #[inline]
    fn won(&self, pointer: &mut u16, requester: u32) {
        RoundRobin.won(pointer, requester);
    }

    const RANKS: bool = true;

    fn rank(&self, who: Contender) -> u64 {
        match (self.outranks_speculation && self.ranked_first, who.header.rank.get()) {
            (false, _) => 0,
            (true, Some(rank)) => order(rank),
            (true, None) => UNRANKED,
        }
    }
}
