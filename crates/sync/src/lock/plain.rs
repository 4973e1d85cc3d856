//! A mutex of one word whose waiters wait by any policy.
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 `FREE` | free |
//! | 1 `HELD` | held, no thread waits |
//! | 2 `AWAITED` | held, a thread may wait |
//!
//! An unlock subtracts one, which frees the lock if no thread waits: two instructions. With a
//! waiter it leaves `HELD`, and a store frees the lock. A thread that has waited takes the lock as
//! `AWAITED`, because it cannot know whether it was the only waiter.
//!
//! Under a policy that tries before it sleeps, a waiter first makes tries that the word does not
//! show. An unlock meanwhile wakes no thread, which would cost a system call and find none asleep.

use super::backoff::is_late;
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;

/// The mutex: its word is `FREE`, `HELD` or `AWAITED`.
#[repr(transparent)]
pub struct Plain<M: Machine> {
    word: M::Atomic<u32>,
}

/// Tries that the word does not show, under `adaptive`: as many as in the mutex of Rust's standard
/// library.
const TRIES: u32 = 100;

/// Returns how many tries a waiter makes that the word does not show, and the policy of the wait
/// that the word shows.
fn stages(wait: Wait) -> (u32, Wait) {
    match wait {
        Wait::SpinPark(n) => (n, Wait::SpinPark(0)),
        Wait::Adaptive(_) => (TRIES, wait),
        _ => (0, wait),
    }
}

impl<M: Machine> Plain<M> {
    /// Waits until the lock is taken. Returns `None` if the deadline passed first.
    #[cold]
    fn contend(&self, wait: Wait, deadline: Option<Deadline>) -> Option<()> {
        let (tries, wait) = stages(wait);
        // A thread that has not slept took no wake-up from another one.
        let mut taken = HELD;
        // Acquire: see the last holder's writes, if the lock was free.
        while !self.tried(tries, taken, deadline) && self.word.swap(AWAITED, Acquire) != FREE {
            if M::wait_while(&self.word, AWAITED, wait, deadline) == WaitResult::Expired {
                return None;
            }
            taken = AWAITED;
        }
        Some(())
    }

    /// Makes up to `tries` tries to take the lock as `taken`, until the word says that a thread
    /// waits or the deadline passed. Returns whether one took the lock.
    fn tried(&self, tries: u32, taken: u32, deadline: Option<Deadline>) -> bool {
        for done in 1..=tries {
            if is_late::<M>(done, deadline) {
                return false;
            }
            // Relaxed: a try that may succeed reads again.
            match self.word.load(Relaxed) {
                FREE if self.take(taken) => return true,
                AWAITED => return false,
                _ => M::relax(),
            }
        }
        false
    }

    /// Takes the lock as `taken`, if it is free.
    #[inline]
    fn take(&self, taken: u32) -> bool {
        // Acquire: see the last holder's writes.
        self.word.compare_exchange(FREE, taken, Acquire, Relaxed).is_ok()
    }

    /// Frees the lock after an unlock that found it `AWAITED`, and wakes one waiter.
    #[cold]
    fn free(&self, wait: Wait) {
        let word: *const M::Atomic<u32> = &self.word;
        // Release: the next holder sees this thread's writes. The swap could be a store, but loom
        // then lets a waiter's swap be the last write, and the waiter wait for ever.
        self.word.swap(FREE, Release);
        // Waking one waiter is enough: that thread takes the lock as AWAITED, and so wakes the next
        // waiter when it unlocks.
        M::wake::<u32>(word, 1, wait);
    }
}

// SAFETY: the lock is one word, free when zero.
unsafe impl<M: Machine> ZeroInit for Plain<M> {}

// SAFETY: only the thread whose exchange found FREE holds the lock. Only the holder subtracts or
// stores FREE; between its subtraction and its store the word is not FREE.
unsafe impl<M: Machine> RawLock<M> for Plain<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "plain",
        what: "mutex of three states whose waiters wait by any policy; an unlock is one subtraction",
        source: "Drepper, Futexes Are Tricky, mutex 2",
        limits: "no order among waiters",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Any,
        counted: Counted { instructions: 9.0, accesses: 2 },
        c_number: 20,
    };

    fn new() -> Self {
        Plain { word: M::Atomic::new(FREE) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        if self.try_lock().is_none() {
            let taken = self.contend(wait, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        // Release: the next holder sees this thread's writes, if this frees the lock.
        if self.word.fetch_add(HELD.wrapping_neg(), Release) != HELD {
            self.free(wait);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for Plain<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.take(HELD).then_some(())
    }
}

// SAFETY: like `lock`. A thread that gives up leaves AWAITED behind: at worst one wake-up finds no
// waiter. If it was woken and found the lock taken again, it has since set AWAITED, so that the
// holder wakes the next waiter.
unsafe impl<M: Machine> TimedLock<M> for Plain<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        self.try_lock().or_else(|| self.contend(wait, Some(deadline)))
    }
}
