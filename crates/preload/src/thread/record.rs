//! The record of a thread: everything that the library knows of it, as plain data. The rooms above have the logic.

use super::counts::{Counts, Holds, Passed};
use super::ring::Ring;
use super::stacks::Stacks;
use super::teams::Teams;
use super::waiter::Waiter;
use super::yields::Yields;
use baton_trace::writer::ThreadWriter;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// One thread.
#[repr(C, align(128))]
pub struct Thread {
    /// The link to the next record on the stack of free records, or of late threads' records.
    pub(super) link: AtomicUsize,
    /// The next record in the list of all records.
    pub(super) next_of_all: AtomicPtr<Thread>,
    /// The thread's `pthread_t`; 0 while no thread has the record.
    pub(super) handle: AtomicUsize,
    /// The kernel's number of the thread.
    pub(super) tid: AtomicU32,
    /// How often the key's destructor has been called for the thread.
    pub(super) rounds: AtomicU32,
    /// The thread's counters.
    pub counts: Counts,
    /// The thread's place in a condition variable's queue.
    pub waiter: Waiter,
    /// Whether the thread may leave a wait at any instruction: bits of `posix::abandoned_waits`.
    pub leaves: AtomicU32,
    /// The block of memory that the thread keeps for its next mutex whose lock does not fit into
    /// the mutex.
    pub block: AtomicUsize,
    /// Writes the thread's part of the trace.
    pub pen: ThreadWriter,
    /// The number of locks that the thread holds, where they are recorded.
    pub holds: Holds,
    /// The call stacks that the thread remembers.
    pub stacks: Stacks,
    /// The thread's three rings: its context switches, its waits and wakes at glibc's own locks, and
    /// samples of its code address.
    pub switches: Ring,
    /// The thread's calls that yield its CPU.
    pub yields: Yields,
    /// What the thread knows of its teams in OpenMP's regions.
    pub teams: Teams,
    /// The thread's signal mask before a fork, while signals are blocked for the fork.
    pub mask: AtomicU64,
    /// Whether signals are blocked for a fork.
    pub blocked: AtomicBool,
    /// Whether the thread takes a mutex again at the end of a wait at a condition variable. Such an
    /// acquisition is no progress point.
    pub relocks: AtomicBool,
    /// What the thread does in calls of Baton's own library.
    pub library: InLibrary,
    /// The thread's row of counts in the file of `progress`; null until the thread counts
    /// something.
    pub row: AtomicPtr<AtomicU64>,
}

/// What a thread does in calls of Baton's own library: its futex calls there are the library's.
#[derive(Default)]
pub struct InLibrary {
    /// The queue or lock at which the thread waits, with the lowest bit set if it waits for an item; 0 if
    /// it waits at none.
    pub inside: AtomicUsize,
    /// The lock that the thread has told last that it releases; 0 if it has told none.
    pub leaves: AtomicUsize,
    /// Whether the thread is in a call of the C library that is recorded.
    pub calls: AtomicBool,
}

// SAFETY: all fields are atomics but the pen, which only the record's own thread uses. There are
// two exceptions, at which that thread runs no code of this library: as the process ends, a master
// writes for a worker that waits for the master's next region (`omp::finish`); and another thread
// closes the pen of a late thread that has ended (`pool::take_back`).
unsafe impl Sync for Thread {}

impl Thread {
    /// A record that no thread has.
    pub(super) fn new() -> Thread {
        Thread {
            link: AtomicUsize::new(0),
            next_of_all: AtomicPtr::new(core::ptr::null_mut()),
            handle: AtomicUsize::new(0),
            tid: AtomicU32::new(0),
            rounds: AtomicU32::new(0),
            counts: Counts::default(),
            waiter: Waiter::new(),
            leaves: AtomicU32::new(0),
            block: AtomicUsize::new(0),
            pen: ThreadWriter::new(),
            holds: Holds::default(),
            stacks: Stacks::new(),
            switches: Ring::new(),
            yields: Yields::new(),
            teams: Teams::new(),
            mask: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            relocks: AtomicBool::new(false),
            library: InLibrary::default(),
            row: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Puts the record in order for a new thread. Its counters are kept.
    pub(super) fn renew(&self) {
        self.rounds.store(0, Ordering::Relaxed);
        self.blocked.store(false, Ordering::Relaxed);
        self.relocks.store(false, Ordering::Relaxed);
        self.waiter.renew();
        self.leaves.store(0, Ordering::Relaxed);
        self.library.inside.store(0, Ordering::Relaxed);
        self.library.leaves.store(0, Ordering::Relaxed);
        self.library.calls.store(false, Ordering::Relaxed);
        self.holds.forget();
        self.teams.forget();
    }

    /// The thread's `pthread_t`; 0 while no thread has the record.
    pub fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }

    /// Whether the thread may leave a wait at any instruction, without running code of this
    /// library.
    #[inline(always)]
    pub fn may_leave(&self) -> bool {
        self.leaves.load(Ordering::Relaxed) != 0
    }

    /// Counts an acquisition that glibc served, for the reason `why`.
    #[inline]
    pub fn count_passed(&self, why: Passed) {
        self.counts.passed[why as usize].add_one();
    }

    /// The kernel's number of the thread.
    pub fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }
}
