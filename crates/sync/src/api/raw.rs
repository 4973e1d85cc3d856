//! The locks of this crate as raw mutexes of `lock_api`.

use super::policy::{Adaptive, WaitPolicy, after};
use super::seen::{self, Mode};
use crate::lock::{HandOver, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::{Deadline, Native, Wait};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::time::Duration;
use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};

/// A lock of this crate with a wait policy. A lock that fixes its own policy uses that one; a lock
/// whose waiters cannot sleep does not compile with a policy that lets them.
#[repr(transparent)]
pub struct Raw<L: RawLock<Native>, W = Adaptive> {
    lock: MaybeUninit<L>,
    wait: PhantomData<fn() -> W>,
}

/// What the guard of a mutex carries from lock to unlock. It must not move to another thread: a
/// queue node or a grant cell returns to the thread that it came from.
pub struct Held<T> {
    token: T,
    stays: PhantomData<*mut ()>,
}

// SAFETY: a shared reference gives access to nothing.
unsafe impl<T> Sync for Held<T> {}

impl<T> Held<T> {
    #[inline(always)]
    fn by(token: T) -> Self {
        Held { token, stays: PhantomData }
    }
}

impl<L: RawLock<Native> + ZeroInit, W: WaitPolicy> Raw<L, W> {
    const WAIT: Wait = match L::INFO.waits {
        Waits::Fixed(own) => own,
        Waits::Spinning if W::WAIT.parks() => panic!("no thread would wake a sleeping waiter of this lock"),
        _ => W::WAIT,
    };

    #[inline(always)]
    fn raw(&self) -> &L {
        // SAFETY: `INIT` made the lock of zeroes, which `ZeroInit` guarantees to be a valid lock.
        unsafe { self.lock.assume_init_ref() }
    }
}

// SAFETY: `RawLock` guarantees mutual exclusion, and that each unlock comes before the next lock;
// `unlock` uses the token of this acquisition. A forgotten guard leaves the lock held. A queue node
// whose token is forgotten is not used again.
unsafe impl<L: TryLock<Native> + ZeroInit, W: WaitPolicy> RawMutex for Raw<L, W> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a lock in a constant")]
    const INIT: Self = Raw { lock: MaybeUninit::zeroed(), wait: PhantomData };

    type Guard = Held<L::Token>;

    #[inline]
    fn lock(&self) -> Self::Guard {
        Held::by(seen::take(self, Mode::Mutex, || self.raw().try_lock(), || self.raw().lock(Self::WAIT)))
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard> {
        seen::tried(self, Mode::Mutex, self.raw().try_lock()).map(Held::by)
    }

    #[inline]
    unsafe fn unlock(&self, guard: Self::Guard) {
        seen::releases(self, Mode::Mutex);
        // SAFETY: the caller holds the lock by this token.
        unsafe { self.raw().unlock(guard.token, Self::WAIT) };
    }

    /// Takes the lock if it is free, and releases it again.
    fn is_locked(&self) -> bool {
        match self.raw().try_lock() {
            // SAFETY: the lock was taken just now.
            Some(token) => unsafe { self.raw().unlock(token, Self::WAIT) },
            None => return true,
        }
        false
    }
}

// SAFETY: the next holder excludes other threads like any other.
unsafe impl<L: TryLock<Native> + ZeroInit + HandOver<Native>, W: WaitPolicy> RawMutexFair for Raw<L, W> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        seen::releases(self, Mode::Mutex);
        // SAFETY: the caller holds the lock by this token.
        unsafe { self.raw().unlock_fair(guard.token, Self::WAIT) };
    }
}

// SAFETY: a successful `lock_until` excludes other threads like `lock`.
unsafe impl<L: TimedLock<Native> + ZeroInit, W: WaitPolicy> RawMutexTimed for Raw<L, W> {
    type Duration = Duration;
    type Instant = Deadline;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        self.try_lock_until(after(timeout))
    }

    fn try_lock_until(&self, timeout: Deadline) -> Option<Self::Guard> {
        let wait = || self.raw().lock_until(Self::WAIT, timeout);
        seen::take_until(self, Mode::Mutex, || self.raw().try_lock(), wait).map(Held::by)
    }
}
