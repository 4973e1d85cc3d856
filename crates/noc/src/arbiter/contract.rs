//! What an arbiter is.

use super::ranked::Ranked;
use crate::packet::Header;

/// What an arbiter may know of a packet that bids.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// The packet's header.
    pub header: Header,
    /// Cycle in which the packet was created; the smallest is the oldest.
    pub created: u64,
    /// The packet's number: breaks ties of age.
    pub id: u64,
    /// A random number, the same for one (seed, cycle, router, requester) whatever else happens.
    pub draw: u64,
}

/// A rule that picks one of several requesters.
pub trait Arbiter: Clone + Send + 'static {
    /// What one arbiter of this kind remembers.
    type State: Clone + Send + std::fmt::Debug;

    /// The state of an arbiter with `requesters` inputs before its first grant.
    fn state(&self, requesters: usize) -> Self::State;

    /// The key of the bid of `requester`; the smallest wins, and equal keys go to the bid that was met first.
    /// `who` looks the packet up: an arbiter that does not call it does not pay for it.
    fn key(&self, state: &Self::State, requester: u32, who: impl FnOnce() -> Contender) -> u64;

    /// `requester` won, and its bid was used.
    fn won(&self, state: &mut Self::State, requester: u32);

    /// The bit of `set`, which is not empty, whose bid wins: that of requester `bit >> shift`. `who` gives the packet
    /// of a bit.
    fn pick(&self, state: &Self::State, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
        smallest(set, |bit| self.key(state, bit >> shift, || who(bit)))
    }

    /// Whether keys depend on nothing but the state and the requester's number: a port's output may then be chosen
    /// before the virtual channel that goes there.
    const POSITIONAL: bool = false;

    /// A class that outranks the order "non-speculative before speculative": a speculative bid whose rank is
    /// strictly smaller takes the place of a non-speculative one. Arbiters without ranks leave it alone.
    const RANKS: bool = false;

    /// The rank of a packet, looked at only if [`Arbiter::RANKS`] is set.
    fn rank(&self, _who: Contender) -> u64 {
        0
    }
}

/// What an arbiter of the registry says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterInfo {
    /// Its name in configurations.
    pub name: &'static str,
    /// One line: who wins.
    pub what: &'static str,
    /// A packet can wait for ever while others pass.
    pub starves: bool,
}

/// An arbiter of the registry, [`every_arbiter!`](crate::every_arbiter).
pub trait Registered: Arbiter + Default {
    /// What it says of itself.
    const INFO: ArbiterInfo;

    /// As a configuration has it. Most have no parameters; those that go by ranks have these.
    fn of(ranked: &Ranked) -> Self {
        let _ = ranked;
        Self::default()
    }
}

/// The bit of `set`, which is not empty, with the smallest key; of equal keys the lowest bit.
#[inline]
pub(crate) fn smallest(set: u64, key: impl Fn(u32) -> u64) -> u32 {
    let mut best = (u64::MAX, set.trailing_zeros());
    let mut rest = set;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        rest &= rest - 1;
        let key = key(bit);
        if key < best.0 {
            best = (key, bit);
        }
    }
    best.1
}
