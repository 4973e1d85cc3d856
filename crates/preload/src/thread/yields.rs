//! A thread's series of calls that yield its CPU. The room `events` reads and tells it.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// Consecutive calls of a thread that yield its CPU at one place, with hardly anything in between.
pub struct Yields {
    /// The place: the calls' return address. 0: there was no call yet.
    pub at: AtomicUsize,
    /// When the series began, and when its last call returned.
    pub first: AtomicU64,
    pub last: AtomicU64,
    /// The end of the part of the series that the trace has. Equal to `first` if the trace has none.
    pub told: AtomicU64,
    /// Number of the calls that the trace does not have.
    pub calls: AtomicU32,
}

impl Yields {
    /// No call yet.
    pub const fn new() -> Yields {
        Yields {
            at: AtomicUsize::new(0),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            told: AtomicU64::new(0),
            calls: AtomicU32::new(0),
        }
    }
}
