//! A mutex that learns how many tries are worthwhile: glibc's PTHREAD_MUTEX_ADAPTIVE_NP.
//!
//! A waiter tries up to twice as often as earlier waiters needed on average, plus [`MORE`], but at
//! most as often as its policy says ([`MOST`] times if the policy names no number). Then it sleeps
//! as under [`futex`](super::futex). An eighth of the difference between its tries and the mean
//! goes into the mean.
//!
//! The word is that of `instrumented_word.rs`. `mean` is an estimate on which no invariant depends:
//! a thread that holds the lock after waiting writes it, and waiters read it at any time.

use super::backoff::tries;
use super::instrumented_word::{FREE, HELD, announce, attempt, attempt_from, entered, given_up, release_to};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// Largest number of tries before a waiter sleeps (glibc's MAX_ADAPTIVE_COUNT).
const MOST: u32 = 100;
/// Tries in addition to twice the mean (glibc).
const MORE: u32 = 10;

/// An adaptive mutex: its word, and the mean number of tries that waiters have needed.
#[repr(C)]
pub struct Adaptive<M: Machine> {
    word: M::Atomic<u32>,
    mean: M::Atomic<u32>,
}

/// The two words of a lock of this algorithm, wherever they stand. Several locks may share a mean,
/// which then is the mean of all. The lock's word is `FREE` if no thread holds the lock, `FREE` + 1
/// if one does, and `FREE` + 2 if there may be sleepers too.
pub struct Words<'a, M: Machine, const FREE: u32> {
    /// The lock's word.
    pub word: &'a M::Atomic<u32>,
    /// The mean number of tries.
    pub mean: &'a M::Atomic<u32>,
}

impl<M: Machine, const FREE: u32> Clone for Words<'_, M, FREE> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine, const FREE: u32> Copy for Words<'_, M, FREE> {}

// By value: two registers, where a reference would have the fast path write both words' addresses to
// the stack.
impl<M: Machine, const FREE: u32> Words<'_, M, FREE> {
    const HELD: u32 = FREE + 1;
    const AWAITED: u32 = FREE + 2;

    /// Takes the lock by the policy `wait`.
    #[inline]
    pub fn lock(self, wait: Wait) {
        let bound = tries(wait, MOST);
        if !attempt_from::<M, FREE>(self.word, bound, Self::HELD) {
            let taken = self.contend(bound, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    /// Takes the lock if it is free. Returns whether it did.
    #[inline]
    pub fn try_lock(self) -> bool {
        let taken = attempt_from::<M, FREE>(self.word, 1, Self::HELD);
        if !taken {
            given_up::<M>();
        }
        taken
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    #[inline]
    pub unsafe fn unlock(self) {
        let word: *const M::Atomic<u32> = self.word;
        if release_to::<M, FREE>(self.word) == Self::AWAITED {
            // Waking one sleeper is enough: that thread takes the lock as AWAITED, and so wakes the
            // next sleeper when it releases the lock.
            M::wake::<u32>(word, 1, Wait::Futex);
        }
    }

    /// Makes the tries after the first one, and then sleeps. Returns `None` if the deadline passed.
    #[cold]
    fn contend(self, bound: u32, deadline: Option<Deadline>) -> Option<()> {
        // Relaxed, here and below: it is only an estimate.
        let mean = self.mean.load(Relaxed).min(bound);
        let most = (2 * mean + MORE).min(bound);
        let mut tried = 0;
        let taken = loop {
            if tried == most {
                break self.sleep(deadline);
            }
            tried += 1;
            M::relax();
            // Reads first, as glibc does: a try that cannot succeed then leaves the line where it
            // is.
            if self.word.load(Relaxed) == FREE && attempt_from::<M, FREE>(self.word, most + 1 - tried, Self::HELD) {
                break true;
            }
        };
        if taken {
            let next = mean as i32 + (tried as i32 - mean as i32) / 8;
            self.mean.store(next as u32, Relaxed);
        } else {
            given_up::<M>();
        }
        taken.then_some(())
    }

    fn sleep(self, deadline: Option<Deadline>) -> bool {
        loop {
            announce::<M>(1);
            // Acquire: see the last holder's writes, if the lock was free.
            if self.word.swap(Self::AWAITED, Acquire) == FREE {
                entered::<M>();
                return true;
            }
            if M::wait_while(self.word, Self::AWAITED, Wait::Futex, deadline) == WaitResult::Expired {
                return false;
            }
        }
    }
}

impl<M: Machine> Adaptive<M> {
    #[inline(always)]
    fn words(&self) -> Words<'_, M, FREE> {
        Words { word: &self.word, mean: &self.mean }
    }
}

// SAFETY: a zero word is `FREE`, and zero is a valid estimate of the mean.
unsafe impl<M: Machine> ZeroInit for Adaptive<M> {}

// SAFETY: only the thread whose exchange found FREE holds the lock, and only the holder stores
// FREE.
unsafe impl<M: Machine> RawLock<M> for Adaptive<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "adaptive",
        what: "mutex: up to n tries (100), fewer where waiters before needed few, then sleep in the kernel",
        source: "glibc, PTHREAD_MUTEX_ADAPTIVE_NP",
        limits: "no order among waiters",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: true,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::SpinPark(MOST)),
        counted: Counted { instructions: 11.0, accesses: 2 },
        c_number: 13,
    };

    fn new() -> Self {
        Adaptive { word: M::Atomic::new(FREE), mean: M::Atomic::new(0) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        self.words().lock(wait);
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        // SAFETY: by contract.
        unsafe { self.words().unlock() };
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for Adaptive<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.words().try_lock().then_some(())
    }
}

// SAFETY: like `lock`. A thread that gives up leaves AWAITED behind: at worst one wake-up finds no
// sleeper. If it was woken and found the lock taken again, it has since set AWAITED, so that the
// holder wakes the next sleeper.
unsafe impl<M: Machine> TimedLock<M> for Adaptive<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let (words, bound) = (self.words(), tries(wait, MOST));
        if attempt::<M>(words.word, bound, HELD) { Some(()) } else { words.contend(bound, Some(deadline)) }
    }
}
