//! The ring into which the kernel writes a thread's context switches. The room of events opens and reads it.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// A thread's ring.
pub struct Ring {
    /// Address of the mapping; 0: none.
    pub at: AtomicUsize,
    /// One moment on both clocks, at or before all records that are left: ticks and nanoseconds.
    pub ticks: AtomicU64,
    pub nanos: AtomicU64,
    /// Being emptied: a signal handler has to leave it alone.
    pub busy: AtomicBool,
}

impl Ring {
    /// No ring.
    pub const fn new() -> Ring {
        Ring {
            at: AtomicUsize::new(0),
            ticks: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            busy: AtomicBool::new(false),
        }
    }
}
