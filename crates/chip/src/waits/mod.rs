//! Waits whose tries, if they have any, are counted and not simulated one by one.
//!
//! | file | holds |
//! | --- | --- |
//! | [`spin`] | tries on a line that the core holds |
//! | [`idle`] | idle waits: with a monitor, or halted |

pub(crate) mod idle;
pub(crate) mod spin;
