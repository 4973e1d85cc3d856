//! [`spin_park`](super::spin_park) as algorithm 1 of its paper is printed: a thread returns from FUTEX_WAIT with the lock. Who
//! unlocks while threads sleep does not free the lock but grants it to them, and wakes one; spinners compete for what is freed.
//!
//! The word:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 `HELD` | a thread is in its critical section |
//! | 1 to 30, `SLEEPER` each | threads that sleep, or are about to |
//! | 31 `GRANTED` | the lock is one of these threads', and none of them has taken it yet |
//!
//! No bit at all is free. A thread counts itself among the sleepers while the lock is not free, and stays counted until it has the lock or gives
//! up; so whether to grant is decided by one exchange, and a grant always finds a taker, as who gives up while there is one
//! takes it. Sleepers sleep on a second word, the gate, which is even. Who grants makes it odd before, and who takes the grant
//! even again: so it does not change when other threads go to sleep, and no thread touches a lock that it has granted.

use super::backoff::{passed, tries};
use super::instrumented_word::{FREE, HELD, announce, attempt, entered, given_up, left};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Deadline, Machine, Wait};

/// A thread that sleeps, or is about to.
const SLEEPER: u32 = 2;
/// The lock is a sleeper's.
const GRANTED: u32 = 1 << 31;
/// What sleeping is, whatever the number of tries before it.
const SLEEP: Wait = Wait::Futex;
/// Tries between two looks at the clock of a timed lock.
const TRIES_A_LOOK: u32 = 64;

/// The lock.
#[repr(C)]
pub struct SpinParkGranted<M: Machine> {
    word: M::Atomic<u32>,
    gate: M::Atomic<u32>,
}

impl<M: Machine> SpinParkGranted<M> {
    /// The tries after the first one of `n`, and then sleep until the lock is granted.
    #[cold]
    fn contend(&self, n: u32, deadline: Option<Deadline>) -> Option<()> {
        let mut next = n - 1;
        loop {
            while next != 0 && !(next.is_multiple_of(TRIES_A_LOOK) && deadline.is_some_and(passed::<M>)) {
                M::relax();
                if attempt::<M>(&self.word, next, HELD) {
                    return Some(());
                }
                next -= 1;
            }
            if self.counted() {
                return self.sleep(deadline);
            }
            // Freed after the last try: FUTEX_WAIT would not sleep either.
            if attempt::<M>(&self.word, n, HELD) {
                return Some(());
            }
            next = n - 1;
        }
    }

    /// Counts the thread among the sleepers, unless the lock is free.
    fn counted(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen != FREE {
            // Relaxed: a message to the exchange that ends the section, which finds it or has come before.
            match self.word.compare_exchange(seen, seen + SLEEPER, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Sleeps until the lock is granted and no other thread has taken the grant. The thread is counted.
    fn sleep(&self, deadline: Option<Deadline>) -> Option<()> {
        loop {
            // Relaxed: while a grant stands the gate is odd, and the kernel compares again before the thread sleeps.
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

    /// Takes the grant, if there is one: the thread holds the lock, and is counted no more.
    fn take(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & GRANTED != 0 {
            // It has no tries left, and no spinner competes for a grant.
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

    /// Gives up, but takes a grant that is there: it may be meant for no other.
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

    /// The holder makes an odd gate even, and an even one odd. Relaxed: only holders write it, and the waker orders it before its
    /// wake-up.
    fn shut(&self) {
        self.gate.store(self.gate.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Ends the critical section: frees the lock, or grants it if threads sleep; whether it has granted it. Then it is not touched
    /// any more.
    fn release(&self) -> bool {
        let (mut seen, mut odd) = (HELD, false);
        loop {
            let grants = seen != HELD;
            if grants != odd {
                self.shut();
                odd = grants;
            }
            announce::<M>(0);
            // Release: the next holder sees our writes, and a sleeper that finds the grant the odd gate.
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

// SAFETY: two zero words: free, and an even gate.
unsafe impl<M: Machine> ZeroInit for SpinParkGranted<M> {}

// SAFETY: only the thread whose exchange found `FREE`, or took away `GRANTED`, holds the lock: either stands there when no thread does, and the
// exchange ends it. Its Acquire pairs with the Release of `release`; exchanges of other threads between them keep the
// release sequence.
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
            // A sleeper that is not in the kernel yet finds the gate changed.
            M::wake::<u32>(gate, 1, SLEEP);
        }
    }
}

// SAFETY: as `lock`; a failed exchange writes nothing.
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

// SAFETY: as `lock`. A thread that gives up is counted no more, by an exchange that finds no grant.
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
