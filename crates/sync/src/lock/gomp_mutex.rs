//! libgomp's mutex (GCC 4.7 and later, `libgomp/config/linux/mutex.c` and `wait.h`): waiters only
//! read while the lock is held, make one try after a change, and sleep after `n` unchanged reads.
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 `FREE` | free |
//! | 1 `HELD` | held, no thread sleeps |
//! | −1 `AWAITED` | held, a thread may sleep |
//!
//! A thread whose budget of reads is used up changes the word to −1 and sleeps. From then on it
//! takes the lock as −1, so every later unlock wakes a sleeper until an unlock finds the word at 1
//! again. libgomp's budget is `GOMP_SPINCOUNT`: 300,000 by default, and 100 while its threads
//! outnumber the CPUs (1,000 with `OMP_WAIT_POLICY=active`). This lock keeps the budget that it is
//! given.
//!
//! One detail differs. A woken thread that finds −1 still in the word reads up to `n` times again
//! in libgomp; here it sleeps again at once ([`Machine::wait_while`]).

use super::backoff::{is_late, passed, tries};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = u32::MAX;

/// libgomp's number of reads before a waiter sleeps, where `OMP_WAIT_POLICY` is not set.
pub const GOMP_SPINS: u32 = 300_000;

/// The lock: its word is `FREE`, `HELD` or `AWAITED`.
#[repr(transparent)]
pub struct Gomp<M: Machine> {
    word: M::Atomic<u32>,
}

impl<M: Machine> Gomp<M> {
    /// Reads the word up to `n` times while it is `HELD`. Returns whether the word changed; `None`
    /// if the deadline passed.
    fn reads_until_changed(&self, n: u32, deadline: Option<Deadline>) -> Option<bool> {
        for turn in 1..=n {
            // Relaxed: the try that follows a change orders the critical sections.
            if self.word.load(Relaxed) != HELD {
                return Some(true);
            }
            if is_late::<M>(turn, deadline) {
                return None;
            }
            M::relax();
        }
        Some(false)
    }

    /// Takes the lock after a first try that found the word at `seen`. Returns `None` if the
    /// deadline passed.
    #[cold]
    fn contend(&self, n: u32, mut seen: u32, deadline: Option<Deadline>) -> Option<()> {
        let mut wait = Wait::SpinPark(n);
        while seen == HELD {
            if !self.reads_until_changed(n, deadline)? {
                // The reads were made: the thread sleeps as soon as the word says so.
                wait = Wait::Futex;
                break;
            }
            // Acquire: see the last holder's writes.
            match self.word.compare_exchange(FREE, HELD, Acquire, Relaxed) {
                Ok(_) => return Some(()),
                // Changes that come fast enough would keep the reads from the clock.
                Err(_) if deadline.is_some_and(passed::<M>) => return None,
                Err(held) => seen = held,
            }
        }
        // Acquire: see the last holder's writes, if the lock was free.
        while self.word.swap(AWAITED, Acquire) != FREE {
            if M::wait_while(&self.word, AWAITED, wait, deadline) == WaitResult::Expired {
                return None;
            }
            wait = Wait::SpinPark(n);
        }
        Some(())
    }

    /// Tries once. Returns the word's value if the lock is held.
    #[inline(always)]
    fn attempt(&self) -> Result<(), u32> {
        // Acquire: see the last holder's writes.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).map(drop)
    }
}

// SAFETY: the lock is one word, and zero is `FREE`.
unsafe impl<M: Machine> ZeroInit for Gomp<M> {}

// SAFETY: only the thread whose exchange found FREE holds the lock, and only the holder stores
// FREE.
unsafe impl<M: Machine> RawLock<M> for Gomp<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "gomp-mutex",
        what: "libgomp's mutex: reads up to n times (300,000) while the lock is held, then sleeps",
        source: "GCC 4.7 to 15, libgomp/config/linux/mutex.c",
        limits: "no order among waiters; spins long where threads outnumber CPUs, where libgomp reads 100 times",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Fixed(Wait::SpinPark(GOMP_SPINS)),
        counted: Counted { instructions: 11.0, accesses: 2 },
        c_number: 21,
    };

    fn new() -> Self {
        Gomp { word: M::Atomic::new(FREE) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        if let Err(seen) = self.attempt() {
            let taken = self.contend(tries(wait, GOMP_SPINS), seen, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        let word: *const M::Atomic<u32> = &self.word;
        // Release: the next holder sees this thread's writes. The old value only says whether to
        // wake.
        if self.word.swap(FREE, Release) == AWAITED {
            // One sleeper is enough: it takes the lock as AWAITED, and so wakes the next one.
            M::wake::<u32>(word, 1, Wait::Futex);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for Gomp<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.attempt().ok()
    }
}

// SAFETY: like `lock`. A thread that gives up leaves AWAITED behind: at worst one wake-up finds no
// sleeper. If it was woken and found the lock taken again, it has since set AWAITED, so that the
// holder wakes the next sleeper.
unsafe impl<M: Machine> TimedLock<M> for Gomp<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        self.attempt().or_else(|seen| self.contend(tries(wait, GOMP_SPINS), seen, Some(deadline)).ok_or(())).ok()
    }
}
