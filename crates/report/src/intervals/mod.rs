//! From events to stretches of time: one walk over the trace, an [`Interval`] at a time, in the order of their ends.
//!
//! This is for drawing and exporting single waits; sums are the analysis's matter. Both keep the same account of each lock
//! ([`Account`](baton_trace::analysis::Account)). Memory stays small: only what is open is kept.

mod interval;
mod thread;
mod walk;

pub use interval::{Doing, Entry, Interval};
pub use walk::{Numbering, walk};
