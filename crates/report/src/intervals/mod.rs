//! Turns events into intervals: one walk over the trace, which yields one [`Interval`] at a time.
//! Intervals come in the order of their ends, with two exceptions: a wait whose kind the thread's
//! next event may tell comes with that event, and holds without a release come last.
//!
//! The walk serves the drawing and export of single waits; sums come from the analysis. Both keep
//! the same account of each lock ([`Account`](baton_trace::analysis::Account)). Besides stretches
//! off the CPU, only open intervals are kept in memory.

mod interval;
mod thread;
mod walk;

pub use interval::{Doing, Entry, Interval};
pub use walk::{Numbering, walk};
