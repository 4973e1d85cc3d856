//! Test-and-set: one flag, and one atomic exchange for each try. The simplest lock, and the worst
//! under contention.

use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::wait::Spinning;
use baton_machine::{Atomic, Deadline, Machine, Wait};

/// A test-and-set lock: 0 free, 1 held.
#[repr(transparent)]
pub struct Tas<M: Machine> {
    held: M::Atomic<u32>,
}

impl<M: Machine> Tas<M> {
    /// Makes the tries after the first one.
    #[cold]
    fn contend(&self, wait: Wait) {
        let (mut tries, mut spinning) = (1, Spinning::default());
        self.between_tries(tries, &mut spinning, wait, None);
        // Acquire: see the last holder's writes.
        while self.held.swap(1, Acquire) != 0 {
            tries = tries.wrapping_add(1);
            self.between_tries(tries, &mut spinning, wait, None);
        }
    }

    /// Called after failed try number `tries`: the spinning policies return to try again, unless
    /// the machine says that the tries are in vain; otherwise the thread waits until the holder has
    /// gone.
    fn between_tries(&self, tries: u32, spinning: &mut Spinning, wait: Wait, deadline: Option<Deadline>) {
        let wait = match wait {
            Wait::Spin | Wait::Pause if M::tried_in_vain(tries, spinning) => Wait::Futex,
            Wait::Spin => return,
            Wait::Pause => return M::relax(),
            other => other,
        };
        // However the wait ended, the next try decides.
        let _ = M::wait_while(&self.held, 1, wait, deadline);
    }
}

// SAFETY: the lock is one word, free when zero.
unsafe impl<M: Machine> ZeroInit for Tas<M> {}

// SAFETY: only the thread whose swap found 0 holds the lock. Its Acquire pairs with the Release
// store of `unlock`.
unsafe impl<M: Machine> RawLock<M> for Tas<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "tas",
        what: "test-and-set: every try is an atomic exchange",
        source: "Anderson, IEEE TPDS 1990",
        limits: "no order among waiters; every try takes the line",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 10.0, accesses: 2 },
        c_number: 0,
    };

    fn new() -> Self {
        Tas { held: M::Atomic::new(0) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        // Acquire: see the last holder's writes.
        if self.held.swap(1, Acquire) != 0 {
            self.contend(wait);
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        let held: *const M::Atomic<u32> = &self.held;
        // Release: the next holder sees this thread's writes.
        self.held.store(0, Release);
        M::wake::<u32>(held, 1, wait);
    }
}

// SAFETY: like `lock`; a failed swap wrote the 1 that was there.
unsafe impl<M: Machine> TryLock<M> for Tas<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        (self.held.swap(1, Acquire) == 0).then_some(())
    }
}

// SAFETY: the lock is taken by `try_lock`.
unsafe impl<M: Machine> TimedLock<M> for Tas<M> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let (mut tries, mut spinning) = (0u32, Spinning::default());
        while self.try_lock().is_none() {
            if M::now(deadline.clock) >= deadline.at {
                return None;
            }
            tries = tries.wrapping_add(1);
            self.between_tries(tries, &mut spinning, wait, Some(deadline));
        }
        Some(())
    }
}
