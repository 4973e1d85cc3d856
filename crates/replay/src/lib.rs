//! Replays a recorded trace on a simulated chip, through the same lock source that ships: predicts
//! the effect of another lock, wait policy or chip on the program.
//!
//! | room | holds |
//! | --- | --- |
//! | [`program`] | the form of a trace that is replayed: one script per thread |

pub mod asymmetric;
pub mod change;
pub mod compile;
pub mod doubt;
mod lives;
pub mod network;
mod ops;
pub mod percent;
pub mod predict;
pub mod program;
pub mod run;
pub mod scale;
pub mod variant;

pub use predict::{Ask, Prediction, predict};
pub use program::Program;
