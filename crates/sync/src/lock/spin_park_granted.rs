//! [`spin_park`](super::spin_park) as algorithm 1 of its paper is printed: a thread returns from
//! FUTEX_WAIT with the lock. An unlock while threads sleep does not free the lock but grants it to
//! the sleepers, and wakes one. Spinners compete only for a lock that was freed.
//!
//! The word:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 `HELD` | a thread is in its critical section |
//! | 1 to 30, `SLEEPER` each | number of threads that sleep, or are about to |
//! | 31 `GRANTED` | the lock belongs to one of these threads, and none of them has taken it yet |
//!
//! A word without any bit is free. A thread counts itself as a sleeper while the lock is not free,
//! and stays counted until it has the lock or gives up. So one exchange decides whether to grant,
//! and a grant always finds a taker, because a thread that gives up takes a grant that is there.
//! Sleepers sleep on a second word, the gate, which is even. The granting thread makes it odd
//! first, and the thread that takes the grant makes it even again. So the gate does not change when
//! other threads go to sleep, and no thread accesses a lock after granting it.

use super::backoff::{is_late, passed, tries};
use super::instrumented_word::{FREE, HELD, announce, attempt, entered, given_up, left};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Deadline, Machine, Wait};

/// Counts one thread that sleeps, or is about to.
const SLEEPER: u32 = 2;
/// Set while the lock belongs to a sleeper that has not taken it yet.
const GRANTED: u32 = 1 << 31;
/// The policy for sleeping, whatever the number of tries before.
const SLEEP: Wait = Wait::Futex;

/// A mutex whose unlock grants it to a sleeper.
#[repr(C)]
pub struct SpinParkGranted<M: Machine> {
    word: M::Atomic<u32>,
    gate: M::Atomic<u32>,
}

impl<M: Machine> SpinParkGranted<M> {
    /// Makes the tries after the first one of `n`, and then sleeps until the lock is granted.
    /// Returns `None` if the deadline passed.
    #[cold]
    fn contend(&self, n: u32, deadline: Option<Deadline>) -> Option<()> {
        let mut next = n - 1;
        loop {
            while next != 0 && !is_late::<M>(next, deadline) {
                M::relax();
                if attempt::<M>(&self.word, next, HELD) {
                    return Some(());
                }
                next -= 1;
            }
            if self.counted() {
                return self.sleep(deadline);
            }
            // The lock was freed after the last try: FUTEX_WAIT would not sleep either.
            if attempt::<M>(&self.word, n, HELD) {
                return Some(());
            }
            next = n - 1;
        }
    }

    /// Counts the thread as a sleeper, unless the lock is free. Returns whether it did.
    fn counted(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen != FREE {
            // Relaxed: only tells the thread that ends the section, whose exchange will find it or
            // came first.
            match self.word.compare_exchange(seen, seen + SLEEPER, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Sleeps until the lock is granted and this thread gets the grant. The thread must be counted
    /// as a sleeper. Returns `None` if the deadline passed.
    fn sleep(&self, deadline: Option<Deadline>) -> Option<()> {
        loop {
            // Relaxed: the gate is odd while a grant is pending, and the kernel compares it again
            // before the thread sleeps.
            let gate = self.gate.load(Relaxed);
            if self.take() {
                return Some(());
            }
            if gate % 2 == 1 {
                // A grant is about to come, or has just been taken.
                M::relax();
                if !deadline.is_some_and(passed::<M>) {
                    continue;
                }
            } else if M::wait_while(&self.gate, gate, SLEEP, deadline) != baton_machine::WaitResult::Expired {
                continue;
            }
            return self.leave();
        }
    }

    /// Takes the grant, if there is one: the thread then holds the lock, and no longer counts as a
    /// sleeper.
    fn take(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & GRANTED != 0 {
            // The thread has no tries left, and no spinner competes for a grant.
            announce::<M>(1);
            // Acquire: see the last holder's writes.
            match self.word.compare_exchange(seen, seen - GRANTED - SLEEPER + HELD, Acquire, Relaxed) {
                Ok(_) => {
                    self.shut();
                    entered::<M>();
                    return true;
                }
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Gives up. If there is a grant, takes it instead, because there may be no other thread to
    /// take it.
    fn leave(&self) -> Option<()> {
        let mut seen = self.word.load(Relaxed);
        loop {
            if self.take() {
                return Some(());
            }
            if seen & GRANTED == 0 {
                match self.word.compare_exchange(seen, seen - SLEEPER, Relaxed, Relaxed) {
                    Ok(_) => return None,
                    Err(now) => seen = now,
                }
            } else {
                seen = self.word.load(Relaxed);
            }
        }
    }

    /// Called by the holder: makes an odd gate even, and an even one odd. Relaxed: only holders
    /// write it, and the waking thread orders the write before its wake-up.
    fn shut(&self) {
        self.gate.store(self.gate.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Ends the critical section: frees the lock, or grants it if threads sleep. Returns whether it
    /// granted the lock, which this thread must not access afterwards.
    fn release(&self) -> bool {
        let (mut seen, mut odd) = (HELD, false);
        loop {
            let grants = seen != HELD;
            if grants != odd {
                self.shut();
                odd = grants;
            }
            announce::<M>(0);
            // Release: the next holder sees this thread's writes, and a sleeper that finds the
            // grant sees the odd gate.
            match self.word.compare_exchange(seen, if grants { seen - HELD + GRANTED } else { FREE }, Release, Relaxed)
            {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        left::<M>();
        odd
    }
}

// SAFETY: two zero words mean a free lock with an even gate.
unsafe impl<M: Machine> ZeroInit for SpinParkGranted<M> {}

// SAFETY: only the thread whose exchange found `FREE`, or removed `GRANTED`, holds the lock. Either
// is set only while no thread holds it, and the exchange ends it. The exchange's Acquire pairs with
// the Release of `release`; exchanges of other threads between them continue the release sequence.
unsafe impl<M: Machine> RawLock<M> for SpinParkGranted<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "spin-park-granted",
        what: "mutex: n tries (128), then sleep in the kernel until an unlock grants it the lock",
        source: "Yao and Lu, OCOR, algorithms 1 and 2",
        limits: "a lock that is granted stands idle until its sleeper is up; no order among spinners",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: true,
        posix: Posix::No("a waiter that is cancelled at any instruction can leave a grant behind that no thread takes"),
        general: false,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        counted: Counted { instructions: 27.0, accesses: 2 },
        c_number: 17,
    };

    fn new() -> Self {
        SpinParkGranted { word: M::Atomic::new(FREE), gate: M::Atomic::new(0) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        let n = tries(wait, SPIN_TRIES);
        if !attempt::<M>(&self.word, n, HELD) {
            let taken = self.contend(n, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        let gate: *const M::Atomic<u32> = &self.gate;
        if self.release() {
            // A sleeper that has not entered the kernel yet finds the gate changed.
            M::wake::<u32>(gate, 1, SLEEP);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for SpinParkGranted<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        let taken = attempt::<M>(&self.word, 1, HELD);
        if !taken {
            given_up::<M>();
        }
        taken.then_some(())
    }
}

// SAFETY: like `lock`. A thread that gives up stops counting as a sleeper by an exchange that finds
// no grant.
unsafe impl<M: Machine> TimedLock<M> for SpinParkGranted<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let n = tries(wait, SPIN_TRIES);
        let taken = attempt::<M>(&self.word, n, HELD) || self.contend(n, Some(deadline)).is_some();
        if !taken {
            given_up::<M>();
        }
        taken.then_some(())
    }
}
