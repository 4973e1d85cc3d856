//! Turns events into intervals: one walk over the trace, which yields an [`Interval`] at a time in
//! the order of their ends.
//!
//! The walk serves the drawing and export of single waits; sums come from the analysis. Both keep
//! the same account of each lock ([`Account`](baton_trace::analysis::Account)). Only open intervals
//! are kept in memory.

mod interval;
mod thread;
mod walk;

pub use interval::{Doing, Entry, Interval};
pub use walk::{Numbering, walk};
