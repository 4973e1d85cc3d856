//! The three-state futex mutex: a waiter sleeps at once, and an unlock calls the kernel only if a
//! thread may sleep.
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 `FREE` | free |
//! | 1 `HELD` | held, no thread sleeps |
//! | 2 `AWAITED` | held, a thread may sleep |
//!
//! A thread that has slept takes the lock as `AWAITED`, because it cannot know whether it was the
//! only sleeper.

use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// A three-state mutex: its word is `FREE`, `HELD` or `AWAITED`.
#[repr(transparent)]
pub struct Futex<M: Machine> {
    word: M::Atomic<u32>,
}

impl<M: Machine> Futex<M> {
    #[cold]
    fn contend(&self, deadline: Option<Deadline>) -> Option<()> {
        // Acquire: see the last holder's writes, if the lock was free.
        while self.word.swap(AWAITED, Acquire) != FREE {
            if M::wait_while(&self.word, AWAITED, Wait::Futex, deadline) == WaitResult::Expired {
                return None;
            }
        }
        Some(())
    }
}

// SAFETY: the lock is one word, free when zero.
unsafe impl<M: Machine> ZeroInit for Futex<M> {}

// SAFETY: only the thread whose exchange found FREE holds the lock, and only the holder stores
// FREE.
unsafe impl<M: Machine> RawLock<M> for Futex<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "futex",
        what: "mutex of three states: sleep in the kernel at once",
        source: "Drepper, Futexes Are Tricky, mutex 2",
        limits: "no order among waiters; every contended hand-off may cost a sleep",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::Futex),
        counted: Counted { instructions: 11.0, accesses: 2 },
        c_number: 8,
    };

    fn new() -> Self {
        Futex { word: M::Atomic::new(FREE) }
    }

    #[inline]
    fn lock(&self, _: Wait) {
        if self.try_lock().is_none() {
            let taken = self.contend(None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        let word: *const M::Atomic<u32> = &self.word;
        // Release: the next holder sees this thread's writes. The old value only says whether to
        // wake.
        if self.word.swap(FREE, Release) == AWAITED {
            // Waking one sleeper is enough: that thread takes the lock as AWAITED, and so wakes the
            // next sleeper when it releases the lock.
            M::wake::<u32>(word, 1, Wait::Futex);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for Futex<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        // Acquire: see the last holder's writes.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).ok().map(drop)
    }
}

// SAFETY: like `lock`. A thread that gives up leaves AWAITED behind: at worst one wake-up finds no
// sleeper. If it was woken and found the lock taken again, it has since set AWAITED, so that the
// holder wakes the next sleeper.
unsafe impl<M: Machine> TimedLock<M> for Futex<M> {
    fn lock_until(&self, _: Wait, deadline: Deadline) -> Option<()> {
        self.try_lock().or_else(|| self.contend(Some(deadline)))
    }
}
