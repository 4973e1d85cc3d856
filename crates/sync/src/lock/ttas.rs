//! Test-and-test-and-set with exponential back-off: waiters read until the lock is free, then try.
//! A thread that loses the race stays away for a while.

use super::backoff::{Backoff, passed};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// A test-and-test-and-set lock: 0 free, 1 held.
#[repr(transparent)]
pub struct Ttas<M: Machine> {
    held: M::Atomic<u32>,
}

impl<M: Machine> Ttas<M> {
    #[cold]
    fn contend(&self, wait: Wait) {
        let mut backoff = Backoff::<M>::new();
        loop {
            // The wait only says that a try is worthwhile; the try decides.
            let _ = M::wait_while(&self.held, 1, wait, None);
            if self.try_lock().is_some() {
                return;
            }
            backoff.lost();
        }
    }
}

// SAFETY: the lock is one word, free when zero.
unsafe impl<M: Machine> ZeroInit for Ttas<M> {}

// SAFETY: only the thread whose swap found 0 holds the lock. Its Acquire pairs with the Release
// store of `unlock`.
unsafe impl<M: Machine> RawLock<M> for Ttas<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "ttas",
        what: "test-and-test-and-set: read until free, try, back off exponentially",
        source: "Anderson, IEEE TPDS 1990",
        limits: "no order among waiters",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 9.0, accesses: 2 },
        c_number: 1,
    };

    fn new() -> Self {
        Ttas { held: M::Atomic::new(0) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        if self.try_lock().is_none() {
            self.contend(wait);
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        let held: *const M::Atomic<u32> = &self.held;
        // Release: the next holder sees this thread's writes.
        self.held.store(0, Release);
        // Waking one sleeper is enough: if another thread takes the lock before it, that thread's
        // unlock wakes the next.
        M::wake::<u32>(held, 1, wait);
    }
}

// SAFETY: like `lock`; a failed swap wrote the 1 that was there.
unsafe impl<M: Machine> TryLock<M> for Ttas<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        // Acquire: see the last holder's writes.
        (self.held.swap(1, Acquire) == 0).then_some(())
    }
}

// SAFETY: the lock is taken by `try_lock`. Giving up has no effect on others: a woken sleeper that
// gives up has read the lock as held, so that holder's unlock wakes the next one.
unsafe impl<M: Machine> TimedLock<M> for Ttas<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let mut backoff = Backoff::<M>::new();
        loop {
            if self.try_lock().is_some() {
                return Some(());
            }
            // Checking the clock as well stops a waiter that loses every race.
            if M::wait_while(&self.held, 1, wait, Some(deadline)) == WaitResult::Expired || passed::<M>(deadline) {
                return self.try_lock();
            }
            backoff.lost();
        }
    }
}
