//! Checking the algorithms: two machines that explore, and one contract suite that every algorithm passes on every
//! machine.
//!
//! | room | holds |
//! | --- | --- |
//! | [`schedules`] | the machine [`schedules::Shuttle`]: random schedules, parking that really parks, false wake-ups |
//! | [`orderings`] | the machine [`orderings::Loom`]: all executions of 2 or 3 threads that the memory orderings allow |
//! | [`world`] | how to run guest threads on a machine: what a machine brings to take part in the suite |
//! | [`contract`] | what a lock, a barrier, an event, a queue and a machine must do |
//! | [`catalogue`] | every algorithm with its abilities, and the macros that make tests of them |
//! | [`complete`] | whether a test program has a suite of every algorithm |
//! | [`mutant`] | weakens one ordering, or drops one fence or wake-up, at one place: does the suite object? |
//! | `reference` | a queue device for both machines |
//! | [`watch`] | a machine that tells when a guest has begun to wait |
//!
//! What the two tools cannot see is written down in `docs/reference/checking.md`.

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
