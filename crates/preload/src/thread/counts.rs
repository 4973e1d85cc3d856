//! What is counted of each thread, and the reasons for which glibc serves a mutex.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A count that its own thread writes and others may read.
#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    pub const fn new() -> Count {
        Count(AtomicU64::new(0))
    }

    /// Adds one. Not one atomic step: only the thread itself counts, and no signal handler does.
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

    /// Adds one, for a count that all threads write.
    pub fn add_one_shared(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }
}

/// The number of locks that a thread holds, as its own events tell: a lock that another thread releases for it stays counted.
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

    /// Whether the thread holds none.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Resets the count for a new thread.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The counters of a record. They stay when the thread goes, and the next thread in the record counts on.
#[derive(Default)]
#[repr(C)]
pub struct Counts {
    /// Mutex acquisitions that the named lock served.
    pub served: Count,
    /// Those that the spare lock served in its place.
    pub spare: Count,
    /// Those of them that came through OpenMP.
    pub openmp: Count,
    /// Acquisitions that glibc served, by [`Passed`].
    pub passed: [Count; Passed::NUMBER],
    /// Condition waits on Baton's condition variables.
    pub condition_waits: Count,
    /// Waiters that its broadcasts moved to their mutex.
    pub moved: Count,
    /// Condition waits that were an error, as a process-shared variable cannot wait with a replaced mutex.
    pub refused_waits: Count,
    /// Barrier episodes on Baton's barriers.
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

/// Why glibc serves a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It is robust: the kernel walks a list through it when its owner dies.
    Robust,
    /// Priority inheritance or protection: the kernel must know its owner.
    Priority,
    /// Another process may use it, which may not have this library.
    ProcessShared,
    /// It was destroyed, or never was a mutex.
    Invalid,
    /// It lies at an address that is no multiple of 8.
    Unaligned,
    /// No lock was named.
    Glibc,
}

impl Passed {
    /// How many reasons there are.
    pub const NUMBER: usize = 6;
    /// All of them, with their names in the counters.
    pub const ALL: [(Passed, &'static str); Passed::NUMBER] = [
        (Passed::Robust, "robust"),
        (Passed::Priority, "priority"),
        (Passed::ProcessShared, "process_shared"),
        (Passed::Invalid, "invalid"),
        (Passed::Unaligned, "unaligned"),
        (Passed::Glibc, "glibc"),
    ];
}
