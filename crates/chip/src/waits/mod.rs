//! Waits whose tries are not simulated one by one.
//!
//! | file | holds |
//! | --- | --- |
//! | [`spin`] | tries on a line that the core holds |
//! | [`idle`] | idle waits: in a monitor, or halted |

pub(crate) mod idle;
pub(crate) mod spin;
