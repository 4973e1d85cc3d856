//! The counters of each thread, and the reasons for which glibc serves a mutex.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A count that its own thread writes and others may read.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    pub const fn new() -> Count {
        Count(AtomicU64::new(0))
    }

    /// Adds one. A load and a store suffice, because only the thread itself counts, and no signal
    /// handler does.
    #[inline(always)]
    pub fn add_one(&self) {
        self.add(1);
    }

    /// Adds `more`.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds one to a count that several threads write.
    pub fn add_one_shared(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }
}

/// The number of locks that a thread holds, by its own events: a lock that another thread releases
/// on its behalf stays counted.
#[derive(Default)]
pub struct Holds(AtomicU32);

impl Holds {
    /// Counts a lock that was taken. Like [`Count`], written by its own thread alone.
    #[inline(always)]
    pub fn take(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Counts a lock that was released.
    #[inline(always)]
    pub fn give(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }

    /// Whether the thread holds no lock.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Resets the count for a new thread.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The counters of a record. They stay when the thread ends, and the next thread that gets the
/// record counts on.
#[derive(Default)]
#[repr(C)]
pub struct Counts {
    /// Number of mutex acquisitions that the named lock served.
    pub served: Count,
    /// Number of mutex acquisitions that the spare lock served in place of the named one.
    pub spare: Count,
    /// Number of acquisitions by Baton's locks that came through OpenMP.
    pub openmp: Count,
    /// The numbers of mutex acquisitions that glibc served, one for each reason ([`Passed`]).
    pub passed: [Count; Passed::NUMBER],
    /// Number of waits at Baton's condition variables.
    pub condition_waits: Count,
    /// Number of waiters that broadcasts of Baton's condition variables moved to their mutex.
    pub moved: Count,
    /// Number of condition waits that ended with an error, because no thread can wait at a
    /// process-shared variable with a replaced mutex.
    pub refused_waits: Count,
    /// Number of waits at Baton's barriers: one for each thread in each episode.
    pub barrier_waits: Count,
}

impl Counts {
    pub fn each(&self) -> impl Iterator<Item = &Count> {
        [
            &self.served,
            &self.spare,
            &self.openmp,
            &self.condition_waits,
            &self.moved,
            &self.refused_waits,
            &self.barrier_waits,
        ]
        .into_iter()
        .chain(&self.passed)
    }
}

/// Why glibc serves a mutex instead of a lock of Baton's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The mutex is robust: the kernel walks a list through it when its owner dies.
    Robust,
    /// The mutex has priority inheritance or protection: the kernel must know its owner.
    Priority,
    /// Another process may use the mutex, and may not have this library.
    ProcessShared,
    /// The mutex was destroyed, or never was initialised as a mutex.
    Invalid,
    /// The mutex lies at an address that is no multiple of 8.
    Unaligned,
    /// `BATON_LOCK` is not set, or leaves the mutex to glibc.
    Glibc,
}

impl Passed {
    /// The number of reasons.
    pub const NUMBER: usize = 6;
    /// All reasons, with their names in the counters.
    pub const ALL: [(Passed, &'static str); Passed::NUMBER] = [
        (Passed::Robust, "robust"),
        (Passed::Priority, "priority"),
        (Passed::ProcessShared, "process_shared"),
        (Passed::Invalid, "invalid"),
        (Passed::Unaligned, "unaligned"),
        (Passed::Glibc, "glibc"),
    ];
}
