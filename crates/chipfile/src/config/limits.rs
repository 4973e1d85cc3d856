//! Bounds that several keys share.

use baton_units::Hertz;

pub use crate::value::MOST_CYCLES;

/// Cores at most; sharers of a line are kept in bit sets that are this wide.
pub const MOST_CORES: u64 = 1024;

/// The slowest clock that a core can have.
pub const SLOWEST: Hertz = Hertz(1_000_000);

/// Hardware contexts of a core at most; what a core keeps for each is in arrays of this length.
pub const MOST_CONTEXTS: usize = 4;
