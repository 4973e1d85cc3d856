//! Replays a recorded trace on a simulated chip, and so predicts the effect of another lock, wait
//! policy or chip on the program. The simulated program runs the same source code of the locks that
//! programs use.
//!
//! | room | holds |
//! | --- | --- |
//! | [`program`] | the form of a trace that is replayed: one script per thread |
//! | [`ops`] | the steps of scripts, packed |
//! | [`compile`](mod@compile) | turns a trace into a program |
//! | [`run`](mod@run) | runs a program on a chip under one lock |
//! | [`predict`](mod@predict) | runs many locks and seeds, after a check against the recorded run |
//! | [`variant`] | variants of the chip: its network, or its cores and the policy that places threads |
//! | [`asymmetric`] | chips of fast and slow cores, and policies that place threads on them |
//! | [`network`] | other networks for the same chip, and their effect |
//! | [`percent`] | relative savings between runs, over seeds |
//! | [`lives`] | how long a program has more than one thread |
//! | [`queues`] | the queues of a recording, and other queues in their place |
//! | [`scale`] | more threads than were recorded |
//! | [`change`] | other locks for some locks, shorter sections, split or shared locks |
//! | [`doubt`] | how wrong a prediction may be |
//! | [`requests`] | a server's throughput and latency after a change |
//!
//! `docs/reference/whatif.md` says what is assumed and what is not replayed.

pub mod asymmetric;
pub mod change;
pub mod compile;
pub mod doubt;
mod error;
mod lives;
pub mod network;
mod ops;
pub mod percent;
pub mod predict;
pub mod program;
pub mod queues;
mod ran;
pub mod requests;
pub mod run;
pub mod scale;
pub mod variant;

pub use predict::{Ask, Prediction, predict};
pub use program::Program;
