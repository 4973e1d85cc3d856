//! The rings into which the kernel writes a thread's context switches, its waits and wakes at glibc's
//! own locks, and samples of its code address. The room `events` opens and reads them.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};

/// A thread's rings.
pub struct Ring {
    /// Address of the first ring's mapping, with context switches; 0: none.
    pub at: AtomicUsize,
    /// Addresses of the mappings of the second ring, with waits for glibc's locks, and of the third
    /// ring, with wakes there; 0: none.
    pub waits: AtomicUsize,
    pub wakes: AtomicUsize,
    /// Address of the mapping of the fourth ring, with samples of the thread's code address; 0:
    /// none.
    pub samples: AtomicUsize,
    /// Microseconds of CPU time between two samples in that ring; 0: the thread has not asked for samples.
    pub period: AtomicU32,
    /// How often the thread has waited for a lock of glibc's since its rings were opened, or since
    /// the thread last asked for samples and there was no room for them.
    pub waited: AtomicU64,
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
    /// How often the thread leaves its CPU, and what follows from it.
    pub pace: Pace,
}

/// How often a thread leaves its CPU, and what follows from it for its breakpoints.
pub struct Pace {
    /// The number of times that the thread has left its CPU since a moment, in nanoseconds of the
    /// kernel's clock.
    pub left: AtomicU64,
    pub since: AtomicU64,
    /// Whether the thread leaves its CPU so often that the kernel's work at each of these times counts.
    pub often: AtomicBool,
    /// Whether the thread may have breakpoints.
    pub entitled: AtomicBool,
    /// When the rings were opened, in nanoseconds of the kernel's clock.
    pub opened: AtomicU64,
    /// How often the rings are emptied until the thread's breakpoints are taken away, or given back.
    pub turn: AtomicU32,
}

impl Ring {
    /// No ring.
    pub const fn new() -> Ring {
        Ring {
            at: AtomicUsize::new(0),
            waits: AtomicUsize::new(0),
            wakes: AtomicUsize::new(0),
            samples: AtomicUsize::new(0),
            period: AtomicU32::new(0),
            waited: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            lock: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            busy: AtomicBool::new(false),
            pace: Pace {
                left: AtomicU64::new(0),
                since: AtomicU64::new(0),
                often: AtomicBool::new(false),
                entitled: AtomicBool::new(false),
                opened: AtomicU64::new(0),
                turn: AtomicU32::new(0),
            },
        }
    }
}
