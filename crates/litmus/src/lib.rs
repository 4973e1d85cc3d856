//! Litmus tests: a few instructions for each thread, and a question about the states in which the
//! threads may leave memory and registers.
//!
//! A test in herd's x86-64 format is read into a [`Test`]; its threads run on any
//! [`Machine`](baton_machine::Machine) over and over with seeded noise, and the final states are
//! counted. [`tso`] enumerates what x86-TSO allows, so that every state that was seen can be
//! compared with the model.
//!
//! | room | holds |
//! | --- | --- |
//! | [`parse`] | the file format: header, initial state, table of code, condition |
//! | `initial` | the initial state |
//! | `code`, `assemble` | the table of code |
//! | `dialect` | the dialect with queues: `enqueue`, `dequeue`, `prepush` |
//! | [`test`](mod@test) | a test, and its final states |
//! | [`queue`] | a test's queues |
//! | [`instruction`] | instructions, registers, numbers |
//! | [`condition`] | `exists`, `~exists`, `forall` and their propositions |
//! | [`cpu`] | what an instruction does to registers, and what it asks of memory |
//! | [`run`], `device` | the threads on a machine, with noise; their queues in its devices |
//! | [`tso`] | the x86-TSO abstract machine with CAF's requests, exhaustively |
//!
//! `docs/reference/litmus.md` says what is read and how noise is chosen.

mod assemble;
mod code;
pub mod condition;
pub mod cpu;
mod device;
mod dialect;
mod initial;
pub mod instruction;
pub mod parse;
pub mod queue;
pub mod run;
pub mod test;
pub mod tso;

pub use condition::{Condition, Observable, Proposition, Quantifier};
pub use instruction::{Instruction, Width};
pub use parse::LitmusError;
pub use queue::Queue;
pub use test::{FinalState, Histogram, Location, Test, Thread};
