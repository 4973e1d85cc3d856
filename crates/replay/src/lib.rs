//! A recorded trace run on a simulated chip, through the real source of the locks: what another lock, wait policy or
//! chip would do to the program.
//!
//! | room | holds |
//! | --- | --- |
//! | [`program`] | what a trace becomes: a script a thread |
//! | [`ops`] | its steps, packed |
//! | [`compile`](mod@compile) | from a trace to a program |
//! | [`run`](mod@run) | a program on a chip under one lock |
//! | [`predict`](mod@predict) | many locks and seeds side by side, after a check against the recorded run |
//! | [`variant`] | what of the chip differs between rows: its network, or its cores and who places threads |
//! | [`asymmetric`] | chips of fast and slow cores, and who places threads on them |
//! | [`network`] | other networks for the same chip, and what they do |
//! | [`percent`] | how much less one has than another, over seeds |
//! | [`lives`] | when a program has more than one thread |
//! | [`scale`] | more threads than were recorded |
//! | [`change`] | other locks for some, shorter sections, locks split or shared |
//!
//! `docs/reference/whatif.md` tells what is assumed and what is not replayed.

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
