//! Clocks that differ from the one that time is counted in.
//!
//! Time is counted in cycles of `core.clock_hz`, the *reference*. Every other clock is a [`Ratio`] of it: a whole fraction,
//! so that nothing drifts however long a run is.
//!
//! | file | holds |
//! | --- | --- |
//! | [`ratio`] | edges of another clock among the reference's cycles |

pub(crate) mod ratio;

pub(crate) use ratio::Ratio;
