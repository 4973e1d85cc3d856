//! Contracts of the OpenMP runtime on every machine.
//!
//! | file | holds |
//! | --- | --- |
//! | [`regions`] | a whole runtime: regions, critical sections, loops, many tasks |
//! | [`parts`] | parts of a team, one at a time: small enough to explore all executions of a few threads |
//! | [`tasks`] | tasks and what waits for them, equally small |
//! | `harness` | threads of a runtime, or of a team without a runtime; what they count and write for each other |

mod harness;
pub mod parts;
pub mod regions;
pub mod tasks;
