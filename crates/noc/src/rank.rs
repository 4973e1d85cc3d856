//! The rank in a packet's header, which says how urgent the packet is to its sender.
//!
//! The network only compares ranks ([`crate::arbiter::Ranked`]). Their meaning is defined by the
//! mechanism that writes headers; OCOR's is in [`crate::ocor`].

/// A packet's rank, or none. The smaller rank goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank(u32);

impl Rank {
    /// The value that means "no rank".
    pub const NONE: Rank = Rank(u32::MAX);

    /// The largest rank: ranks have 24 bits.
    pub const LAST: u32 = (1 << 24) - 1;

    /// Creates the rank `value`, which must be from 0 to [`Rank::LAST`]; panics otherwise.
    #[inline]
    pub const fn new(value: u32) -> Rank {
        assert!(value <= Rank::LAST, "a rank has 24 bits");
        Rank(value)
    }

    /// Returns the rank's value, or `None` if there is no rank.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        if self.is_some() { Some(self.0) } else { None }
    }

    /// Whether there is a rank.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 <= Rank::LAST
    }
}

impl Default for Rank {
    fn default() -> Rank {
        Rank::NONE
    }
}
