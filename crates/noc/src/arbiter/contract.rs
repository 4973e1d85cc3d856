//! The contract that every arbiter fulfils.

use super::ranked::Ranked;
use crate::packet::Header;

/// What an arbiter may know of a packet that bids.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// Header of the packet, with its class and rank.
    pub header: Header,
    /// Cycle in which the packet was created; the smallest is the oldest.
    pub created: u64,
    /// Number of the packet, which breaks ties of age.
    pub id: u64,
    /// A random number that depends on nothing but the seed, the cycle, and the router and virtual
    /// channel in which the packet stands.
    pub draw: u64,
}

/// A rule that picks one of several requesters of a resource: a virtual channel, a switch input or
/// a switch output.
pub trait Arbiter: Clone + Send + 'static {
    /// What one arbiter of this kind remembers between grants, such as a round-robin pointer.
    type State: Clone + Send + std::fmt::Debug;

    /// Creates the state of an arbiter with `requesters` inputs, before its first grant.
    fn state(&self, requesters: usize) -> Self::State;

    /// Returns the key of the bid of `requester`. The smallest key wins; of equal keys, the bid
    /// that the router met first. `who` looks up the packet; an arbiter that does not call it does
    /// not pay for the look-up.
    fn key(&self, state: &Self::State, requester: u32, who: impl FnOnce() -> Contender) -> u64;

    /// Records that `requester` won. A step of an allocator calls it only for a bid that won the
    /// allocator's later steps too.
    fn won(&self, state: &mut Self::State, requester: u32);

    /// Returns the winning bit of `set`, which must not be empty. Bit `bit` is a bid of requester
    /// `bit >> shift`, and `who(bit)` looks up its packet.
    fn pick(&self, state: &Self::State, set: u64, shift: u32, who: impl Fn(u32) -> Contender) -> u32 {
        smallest(set, |bit| self.key(state, bit >> shift, || who(bit)))
    }

    /// Whether keys depend on nothing but the state and the requester's number. The router may then
    /// choose an output port before it knows which virtual channel bids for it.
    const POSITIONAL: bool = false;

    /// Whether the arbiter lets a speculative bid of a strictly smaller [`Arbiter::rank`] win over
    /// a non-speculative bid. Otherwise non-speculative bids always go first.
    const RANKS: bool = false;

    /// Returns the rank of a packet. The router calls it only if [`Arbiter::RANKS`] is set.
    fn rank(&self, _who: Contender) -> u64 {
        0
    }
}

/// What a registered arbiter declares about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterInfo {
    /// Name in configurations.
    pub name: &'static str,
    /// One line for the user that says which requester wins.
    pub what: &'static str,
    /// Whether a packet can wait for ever while other packets pass it.
    pub starves: bool,
}

/// An arbiter that stands in the registry [`every_arbiter!`](crate::every_arbiter) and can be named
/// in a configuration.
pub trait Registered: Arbiter + Default {
    /// The arbiter's own declaration of name and properties.
    const INFO: ArbiterInfo;

    /// Creates the arbiter for a configuration. `ranked` holds the parameters of arbiters that use
    /// ranks; others ignore it.
    fn of(ranked: &Ranked) -> Self {
        let _ = ranked;
        Self::default()
    }
}

/// Returns the bit of `set`, which must not be empty, that has the smallest key; of equal keys, the
/// lowest bit.
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
