//! The simulated many-core; implements Machine.
//!
//! | room | holds |
//! | --- | --- |
//! | [`config`] | what a chip is: the chip file |

pub mod config;

pub use config::{Chip, ChipError};
