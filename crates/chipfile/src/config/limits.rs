//! Bounds that several keys share.

use baton_units::Hertz;

pub use crate::value::MOST_CYCLES;

/// Largest number of cores, which is the width of the bit sets that hold the sharers of a line.
pub const MOST_CORES: u64 = 1024;

/// The slowest clock that a core can have.
pub const SLOWEST: Hertz = Hertz(1_000_000);

/// Largest number of hardware contexts of a core, which is the length of the arrays that a core has
/// for its contexts.
pub const MOST_CONTEXTS: usize = 4;
