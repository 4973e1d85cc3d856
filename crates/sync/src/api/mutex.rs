//! The locks of this crate as mutexes of `lock_api`.

use super::policy::Adaptive;
use crate::lock::plain::Plain;
use baton_machine::Native;

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
pub type Mutex<T, W = Adaptive> = lock_api::Mutex<RawOf<Plain<Native>, W>, T>;

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T, W = Adaptive> = lock_api::MutexGuard<'a, RawOf<Plain<Native>, W>, T>;

/// The lock of a mutex. With the feature `deadlocks` its holder notes it.
#[cfg(not(feature = "deadlocks"))]
pub type RawOf<L, W = Adaptive> = super::raw::Raw<L, W>;

/// The lock of a mutex. With the feature `deadlocks` its holder notes it.
#[cfg(feature = "deadlocks")]
pub type RawOf<L, W = Adaptive> = super::deadlocks::Tracked<L, W>;

macro_rules! mutexes {
    ($($room:ident :: $lock:ident $mutex:ident [$($ability:ident)*],)*) => {$(
        #[doc = concat!("A mutex by [`", stringify!($room), "`](crate::lock::", stringify!($room), ").")]
        pub type $mutex<T, W = Adaptive> = lock_api::Mutex<RawOf<crate::lock::$room::$lock<Native>, W>, T>;
    )*};
}

crate::every_lock!([mutexes]);

#[cfg(test)]
mod tests {
    use super::super::policy::{Park, Pause};
    use super::super::raw::Raw;
    use super::*;
    use crate::lock::{clh, cohort, fair, futex, hemlock, k42, mcs, spin_park, tas, ticket, ticket_prop, ttas};
    use baton_machine::units::Nanos;
    use baton_machine::{Clock, Deadline};
    use core::time::Duration;
    use lock_api::RawMutex;

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
        count::<Raw<fair::Fair<Native>>>();
        count::<Raw<fair::Fair<Native, 0>, Park>>();
    }

    #[test]
    fn a_mutex_keeps_no_token() {
        assert_eq!(size_of::<Raw<Plain<Native>>>(), 4);
        assert_eq!(size_of::<Raw<fair::Fair<Native>>>(), 8);
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
