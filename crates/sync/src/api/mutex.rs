//! The locks of this crate as mutexes of `lock_api`.

use super::policy::{Adaptive, WaitPolicy, after};
use crate::lock::{Fifo, RawLock, TimedLock, TryLock, Waits, ZeroInit, plain::Plain};
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
        Held::by(self.raw().lock(Self::WAIT))
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard> {
        self.raw().try_lock().map(Held::by)
    }

    #[inline]
    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: the caller holds the lock by this token.
        unsafe { self.raw().unlock(guard.token, Self::WAIT) };
    }

    /// Takes the lock if it is free, and releases it again.
    fn is_locked(&self) -> bool {
        match self.try_lock() {
            // SAFETY: the lock was taken just now.
            Some(guard) => unsafe { self.unlock(guard) },
            None => return true,
        }
        false
    }
}

// SAFETY: a lock that serves in order of arrival is always fair.
unsafe impl<L: TryLock<Native> + ZeroInit + Fifo, W: WaitPolicy> RawMutexFair for Raw<L, W> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock(guard) };
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
        self.raw().lock_until(Self::WAIT, timeout).map(Held::by)
    }
}

/// A mutex of four bytes for any number of threads.
///
/// ```
/// use baton_sync::Mutex;
///
/// static SUM: Mutex<u64> = Mutex::new(0);
///
/// std::thread::scope(|s| {
///     for _ in 0..4 {
///         s.spawn(|| (0..100).for_each(|_| *SUM.lock() += 1));
///     }
/// });
/// assert_eq!(*SUM.lock(), 400);
/// ```
pub type Mutex<T, W = Adaptive> = lock_api::Mutex<Raw<Plain<Native>, W>, T>;

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T, W = Adaptive> = lock_api::MutexGuard<'a, Raw<Plain<Native>, W>, T>;

macro_rules! mutexes {
    ($($room:ident :: $lock:ident $mutex:ident [$($ability:ident)*],)*) => {$(
        #[doc = concat!("A mutex by [`", stringify!($room), "`](crate::lock::", stringify!($room), ").")]
        pub type $mutex<T, W = Adaptive> = lock_api::Mutex<Raw<crate::lock::$room::$lock<Native>, W>, T>;
    )*};
}

crate::every_lock!([mutexes]);

#[cfg(test)]
mod tests {
    use super::super::policy::{Park, Pause};
    use super::*;
    use crate::lock::{clh, cohort, futex, hemlock, k42, mcs, spin_park, tas, ticket, ticket_prop, ttas};
    use baton_machine::Clock;
    use baton_machine::units::Nanos;

    fn count<R: RawMutex + Send + Sync>() {
        let sum = lock_api::Mutex::<R, u32>::new(0);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| (0..500).for_each(|_| *sum.lock() += 1));
            }
        });
        assert_eq!(*sum.lock(), 1500);
        let held = sum.lock();
        assert!(sum.is_locked() && sum.try_lock().is_none());
        drop(held);
        assert!(!sum.is_locked() && sum.try_lock().is_some());
    }

    #[test]
    fn mutexes_exclude() {
        count::<Raw<Plain<Native>>>();
        count::<Raw<Plain<Native>, Pause>>();
        count::<Raw<tas::Tas<Native>>>();
        count::<Raw<ttas::Ttas<Native>, Pause>>();
        count::<Raw<ticket::Ticket<Native>>>();
        count::<Raw<ticket_prop::TicketProp<Native>, Park>>();
        count::<Raw<mcs::Mcs<Native>>>();
        count::<Raw<clh::Clh<Native>>>();
        count::<Raw<k42::K42<Native>, Park>>();
        count::<Raw<hemlock::Hemlock<Native>>>();
        count::<Raw<cohort::CohortLock<Native>>>();
        count::<Raw<spin_park::SpinPark<Native>, Pause>>();
        count::<Raw<futex::Futex<Native>>>();
    }

    #[test]
    fn a_mutex_keeps_no_token() {
        assert_eq!(size_of::<Mutex<()>>(), 4);
        assert_eq!(size_of::<Raw<mcs::Mcs<Native>>>(), 8);
    }

    #[test]
    fn a_timed_lock_expires() {
        let mutex = Mutex::<u8>::new(1);
        let held = mutex.lock();
        assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none());
        assert!(mutex.try_lock_until(Deadline { at: Nanos(0), clock: Clock::Realtime }).is_none());
        drop(held);
        assert!(mutex.try_lock_for(Duration::ZERO).is_some());
        assert!(mutex.try_lock_for(Duration::MAX).is_some());
    }
}
