//! The rings into which the kernel writes a thread's context switches and its waits and wakes at
//! glibc's own locks. The room `events` opens and reads them.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// A thread's rings.
pub struct Ring {
    /// Address of the first ring's mapping, with context switches; 0: none.
    pub at: AtomicUsize,
    /// Address of the mapping of the second ring, with wakes at glibc's locks; 0: none.
    pub wakes: AtomicUsize,
    /// Address of the mapping of the third ring, with samples of the thread's code address; 0:
    /// none.
    pub samples: AtomicUsize,
    /// How often the thread has waited for a lock of glibc's since its rings were opened, or since
    /// the thread last asked for samples and there was no room for them.
    pub waits: AtomicU64,
    /// A moment on two clocks, in ticks of the counter and in nanoseconds, at or before all records
    /// that are not read yet.
    pub ticks: AtomicU64,
    pub nanos: AtomicU64,
    /// The lock of glibc's for which the thread last waited, as far as the records have been read;
    /// 0: none, or its acquisition is recorded already.
    pub lock: AtomicU64,
    /// The time in ticks at which the wait for `lock` was over, as far as the records have been
    /// read.
    pub taken: AtomicU64,
    /// Whether the rings are being emptied: a signal handler then leaves them alone.
    pub busy: AtomicBool,
}

impl Ring {
    /// No ring.
    pub const fn new() -> Ring {
        Ring {
            at: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
            samples: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            lock: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            busy: AtomicBool::new(false),
        }
    }
}
