//! Checks the algorithms, with two machines that explore executions and one suite of contracts that
//! every algorithm passes on every machine.
//!
//! | module | holds |
//! | --- | --- |
//! | [`schedules`] | the machine [`schedules::Shuttle`]: random schedules, parking that really blocks, false wake-ups |
//! | [`orderings`] | the machine [`orderings::Loom`]: all executions of 2 or 3 threads that the memory orderings allow |
//! | [`world`] | how guest threads run on a machine: what a machine needs to run the suite |
//! | [`contract`] | the contracts of machines, of every kind of algorithm, and of the OpenMP runtime |
//! | [`catalogue`] | every algorithm with its abilities, and macros that make tests of them |
//! | [`complete`] | whether a test program has a suite of every algorithm |
//! | [`mutant`] | weakens one ordering, or drops one fence or wake-up, to see whether the suite objects |
//! | `reference` | a queue device for both machines |
//! | [`watch`] | a machine that reports when a guest has begun to wait |
//!
//! `docs/reference/checking.md` lists what the two tools cannot detect.

#[doc(hidden)]
pub use baton_needs::repeat::on_failure;

pub mod catalogue;
pub mod complete;
pub mod contract;
mod execution;
pub mod mutant;
pub mod orderings;
pub mod reference;
pub mod schedules;
pub mod watch;
pub mod world;
