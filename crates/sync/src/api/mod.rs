//! The locks for Rust programs: each is a [`lock_api::RawMutex`] with an alias that is used like
//! `std`'s `Mutex`. A condition variable works with all of them.

mod condvar;

pub use condvar::Condvar;

use crate::lock::{Fifo, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::units::Nanos;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Clock, Deadline, Machine, Native, Wait};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::time::Duration;
use lock_api::{GuardNoSend, RawMutex, RawMutexFair, RawMutexTimed};

/// A wait policy as a type.
pub trait WaitPolicy: Send + Sync + 'static {
    /// The policy that the type stands for.
    const WAIT: Wait;
}

/// [`Wait::Pause`]: waiters spin.
#[derive(Clone, Copy, Debug)]
pub struct Pause;
impl WaitPolicy for Pause {
    const WAIT: Wait = Wait::Pause;
}

/// [`Wait::Futex`]: waiters sleep at once.
#[derive(Clone, Copy, Debug)]
pub struct Park;
impl WaitPolicy for Park {
    const WAIT: Wait = Wait::Futex;
}

/// [`Wait::SpinPark`]: waiters sleep after `TRIES` tries.
#[derive(Clone, Copy, Debug)]
pub struct SpinPark<const TRIES: u32 = SPIN_TRIES>;
impl<const TRIES: u32> WaitPolicy for SpinPark<TRIES> {
    const WAIT: Wait = Wait::SpinPark(TRIES);
}

/// A lock of this crate together with its holder's token, as `lock_api` requires. A lock that fixes
/// its own wait policy uses that one; a lock whose waiters cannot sleep does not compile with a
/// policy that lets them.
pub struct Raw<L: RawLock<Native>, W = SpinPark> {
    lock: MaybeUninit<L>,
    token: UnsafeCell<MaybeUninit<L::Token>>,
    wait: PhantomData<W>,
}

// SAFETY: a lock is made for sharing; only the holder writes and reads the token.
unsafe impl<L: RawLock<Native>, W: WaitPolicy> Sync for Raw<L, W> {}
// SAFETY: a lock that no thread holds is plain data.
unsafe impl<L: RawLock<Native>, W: WaitPolicy> Send for Raw<L, W> {}

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

    /// Stores the token of a lock just taken.
    #[inline(always)]
    fn keep(&self, token: L::Token) {
        // SAFETY: the calling thread holds the lock, and only the holder accesses the token.
        unsafe { *self.token.get() = MaybeUninit::new(token) };
    }
}

// SAFETY: `RawLock` guarantees mutual exclusion; `unlock` uses the token that this holder stored.
unsafe impl<L: TryLock<Native> + ZeroInit, W: WaitPolicy> RawMutex for Raw<L, W> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a lock in a constant")]
    const INIT: Self =
        Raw { lock: MaybeUninit::zeroed(), token: UnsafeCell::new(MaybeUninit::uninit()), wait: PhantomData };

    /// The guard must not move to another thread: a queue node or a grant cell returns to the
    /// thread that it came from.
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        let token = self.raw().lock(Self::WAIT);
        self.keep(token);
    }

    #[inline]
    fn try_lock(&self) -> bool {
        match self.raw().try_lock() {
            Some(token) => {
                self.keep(token);
                true
            }
            None => false,
        }
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock and has stored its token.
        unsafe { self.raw().unlock((*self.token.get()).assume_init(), Self::WAIT) };
    }
}

// SAFETY: a lock that serves in order of arrival is always fair.
unsafe impl<L: TryLock<Native> + ZeroInit + Fifo, W: WaitPolicy> RawMutexFair for Raw<L, W> {
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
    }
}

// SAFETY: a successful `lock_until` excludes other threads like `lock`.
unsafe impl<L: TimedLock<Native> + ZeroInit, W: WaitPolicy> RawMutexTimed for Raw<L, W> {
    type Duration = Duration;
    type Instant = Deadline;

    fn try_lock_for(&self, timeout: Duration) -> bool {
        let nanos = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let at = Nanos(Native::now(Clock::Monotonic).0.saturating_add(nanos));
        self.try_lock_until(Deadline { at, clock: Clock::Monotonic })
    }

    fn try_lock_until(&self, timeout: Deadline) -> bool {
        match self.raw().lock_until(Self::WAIT, timeout) {
            Some(token) => {
                self.keep(token);
                true
            }
            None => false,
        }
    }
}

macro_rules! mutexes {
    ($($room:ident :: $lock:ident $mutex:ident [$($ability:ident)*],)*) => {$(
        #[doc = concat!("A mutex by [`", stringify!($room), "`](crate::lock::", stringify!($room), ").")]
        pub type $mutex<T, W = SpinPark> = lock_api::Mutex<Raw<crate::lock::$room::$lock<Native>, W>, T>;
    )*};
}

crate::every_lock!([mutexes]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{clh, cohort, futex, hemlock, k42, mcs, spin_park, tas, ticket, ticket_prop, ttas};

    fn count<R: RawMutex + Send + Sync>() {
        let sum = lock_api::Mutex::<R, u32>::new(0);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| (0..500).for_each(|_| *sum.lock() += 1));
            }
        });
        assert_eq!(*sum.lock(), 1500);
        let held = sum.lock();
        assert!(sum.try_lock().is_none());
        drop(held);
        assert!(sum.try_lock().is_some());
    }

    #[test]
    fn mutexes_exclude() {
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
    fn a_lock_with_no_token_pays_for_none() {
        assert_eq!(size_of::<Raw<futex::Futex<Native>>>(), 4);
        assert_eq!(size_of::<Raw<mcs::Mcs<Native>>>(), 16);
    }

    #[test]
    fn a_timed_lock_expires() {
        let mutex = SpinParkMutex::<u8>::new(1);
        let held = mutex.lock();
        assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none());
        assert!(mutex.try_lock_until(Deadline { at: Nanos(0), clock: Clock::Realtime }).is_none());
        drop(held);
        assert!(mutex.try_lock_for(Duration::ZERO).is_some());
        assert!(mutex.try_lock_for(Duration::MAX).is_some());
    }
}
