//! The coarse mode: the time of a phase, which is a computation described by figures. This is a
//! pure calculation with a memory of its results. The engine asks for the rates of all phases
//! whenever a phase begins, ends or moves, or a clock changes.
//!
//! `docs/reference/phases.md` has the formulas, their sources and what is assumed. Each file uses only files that stand above it:
//!
//! | file | holds |
//! | --- | --- |
//! | [`lru`] | what a cache with least-recently-used replacement keeps |
//! | [`solve`] | the rates of phases that run at once |
//! | [`held`] | what a core's private caches hold of the threads that ran there |
//! | [`residence`] | the lines that a thread has in the shared levels, and those that it fetches
//! again |
//! | [`state`] | which phases run where, and a memory of rates |

mod held;
mod lru;
mod residence;
mod solve;
pub mod state;
