//! The rank that a packet's header carries: how urgent its sender says it is.
//!
//! The network only compares ranks ([`crate::arbiter::Ranked`]). What they mean is the business of the mechanism that writes
//! headers; OCOR's is in [`crate::ocor`].

/// A packet's rank, or none. The smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank(u32);

impl Rank {
    /// No rank.
    pub const NONE: Rank = Rank(u32::MAX);

    /// The greatest value: ranks have 24 bits.
    pub const LAST: u32 = (1 << 24) - 1;

    /// A rank of `value`, of 0 to [`Rank::LAST`].
    #[inline]
    pub const fn new(value: u32) -> Rank {
        assert!(value <= Rank::LAST, "a rank has 24 bits");
        Rank(value)
    }

    /// Its value.
    #[inline]
    pub const fn get(self) -> Option<u32> {
        if self.is_some() { Some(self.0) } else { None }
    }

    /// Whether there is one.
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
