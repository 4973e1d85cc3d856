//! Reads a trace directory. What is damaged is left out and reported ([`Loss`]); everything else is
//! read.
//!
//! Opening a trace goes over every file once: headers, checksums, definitions, threads. The events
//! themselves are read only when they are requested, one segment of each thread at a time, so a
//! trace need not fit into memory.

mod definitions;
pub(crate) mod loss;
pub(crate) mod merge;
pub(crate) mod scan;
mod times;

pub use loss::{Loss, LossKind};
pub(crate) use merge::{Merge, Segments};
