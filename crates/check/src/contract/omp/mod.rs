//! What the OpenMP runtime must do on every machine.
//!
//! | file | holds |
//! | --- | --- |
//! | [`regions`] | a whole runtime: regions, critical sections, loops, many tasks |
//! | [`parts`] | what a team is made of, one at a time: small enough for all executions of a few threads |
//! | [`tasks`] | tasks and what is waited for, as small |
//! | `harness` | threads of a runtime, or of a team that no runtime began; what they count and leave for each other |

mod harness;
pub mod parts;
pub mod regions;
pub mod tasks;
