//! The coarse mode: what a phase, a computation said by its figures, takes. A pure calculation and what it remembers; the engine
//! asks for the rates of all phases whenever one begins, ends or moves, or a clock changes.
//!
//! `docs/reference/phases.md` has the formulas, their sources and what is assumed. Each file uses only files that stand above it:
//!
//! | file | holds |
//! | --- | --- |
//! | [`lru`] | what a cache with least-recently-used replacement keeps |
//! | [`solve`] | the rates of phases that run at once |
//! | [`held`] | what a core's private caches hold of the threads that ran there |
//! | [`residence`] | what a thread has in the shared levels, and what it fetches again |
//! | [`state`] | which phases run where, and rates that were worked out before |

mod held;
mod lru;
mod residence;
mod solve;
pub mod state;
