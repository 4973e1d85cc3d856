//! The mutex of OCOR's paper (algorithms 1 and 2): a bounded number of tries, then sleep in the kernel.
//!
//! The paper calls it a queue spinlock; it is a spin-then-futex mutex. Where algorithm 1 as printed returns from
//! FUTEX_WAIT without the lock, this one tries again, with all its tries.
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 | free |
//! | 1 | held; sleepers are known to the kernel (the machine) only |

use super::backoff::passed;
use super::{LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Deadline, LockHint, Machine, Wait, WaitResult};

/// Tries between two looks at the clock of a timed lock.
const TRIES_A_LOOK: u32 = 64;

/// The lock: 0 free, 1 held.
#[repr(transparent)]
pub struct SpinPark<M: Machine> {
    held: M::Atomic<u32>,
}

/// What sleeping is, whatever the number of tries before it.
const SLEEP: Wait = Wait::Futex;

impl<M: Machine> SpinPark<M> {
    /// One atomic try, told to the machine beforehand with the tries that are left, this one included.
    #[inline(always)]
    fn attempt(&self, retries_left: u32) -> bool {
        if M::HINTS {
            M::hint(LockHint { retries_left, progress: M::local().get(Use::Progress) as u32 });
        }
        // Acquire: see the last holder's writes. An exchange that compares, so that on a machine with LL/SC a try
        // that cannot succeed only reads (section 3.2 speaks of such sharers).
        self.held.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// The tries after the first one of `n`, and sleep between rounds of `n`.
    #[cold]
    fn contend(&self, n: u32, deadline: Option<Deadline>) -> Option<()> {
        let mut left = n - 1;
        loop {
            while left != 0 {
                M::relax();
                if self.attempt(left) {
                    return Some(());
                }
                left -= 1;
                if left.is_multiple_of(TRIES_A_LOOK)
                    && let Some(deadline) = deadline
                    && passed::<M>(deadline)
                {
                    return None;
                }
            }
            if M::wait_while(&self.held, 1, SLEEP, deadline) == WaitResult::Expired {
                return None;
            }
            if self.attempt(n) {
                return Some(());
            }
            left = n - 1;
        }
    }
}

/// The tries that `wait` asks for: at least one, or nobody would ever take the lock.
#[inline(always)]
fn tries(wait: Wait) -> u32 {
    match wait {
        Wait::SpinPark(n) => n.max(1),
        _ => SPIN_TRIES,
    }
}

// SAFETY: one zero word, free when zero.
unsafe impl<M: Machine> ZeroInit for SpinPark<M> {}

// SAFETY: only the thread whose exchange found 0 holds the lock. Its Acquire pairs with the Release store of `unlock`.
unsafe impl<M: Machine> RawLock<M> for SpinPark<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "spin-park",
        what: "mutex: n tries (128), then sleep in the kernel",
        source: "Yao and Lu, OCOR, algorithms 1 and 2",
        limits: "no order among waiters: a spinner may overtake one that is being woken",
        fifo: false,
        try_lock: true,
        timed: true,
        posix: Posix::Yes,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
    };

    fn new() -> Self {
        SpinPark { held: M::Atomic::new(0) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        let n = tries(wait);
        if !self.attempt(n) {
            let taken = self.contend(n, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        let held: *const M::Atomic<u32> = &self.held;
        // Release: the next holder sees our writes.
        self.held.store(0, Release);
        if M::HINTS {
            let local = M::local();
            local.set(Use::Progress, local.get(Use::Progress).wrapping_add(1));
        }
        // After the release, so that a spinner may take the lock before the sleeper is up: OCOR lives from that. One
        // sleeper is enough, as whoever takes the lock before it wakes the next on leaving. The lock's own policy, not
        // the caller's: its waiters sleep whatever they were told.
        M::wake::<u32>(held, 1, SLEEP);
    }
}

// SAFETY: as `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for SpinPark<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.attempt(1).then_some(())
    }
}

// SAFETY: as `lock`. A sleeper that was woken and gives up has read the lock as held since, so that holder's unlock
// wakes the next one.
unsafe impl<M: Machine> TimedLock<M> for SpinPark<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let n = tries(wait);
        if self.attempt(n) {
            return Some(());
        }
        self.contend(n, Some(deadline))
    }
}
