//! A condition variable that works with the mutexes of every lock of this crate.

use super::policy::{Adaptive, WaitPolicy, after};
use super::seen::{self, Object};
use crate::event::chain::Chain;
use crate::event::{Ended, RawEvent};
use crate::nodes::Node;
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::time::Duration;
use lock_api::{MutexGuard, RawMutex};

/// Ends the program if a wait unwinds: the event would keep a node of a stack that is gone.
struct Aborts;

impl Drop for Aborts {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// A condition variable of eight bytes. `notify_one` wakes the thread that has waited longest.
/// After `notify_all` each woken thread wakes the next one when it has the mutex, so that the
/// threads do not all run for the mutex at once.
///
/// ```
/// use baton_sync::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock();
///     while !*ready {
///         CHANGED.wait(&mut ready);
///     }
/// });
/// ```
#[repr(transparent)]
pub struct Condvar<W = Adaptive> {
    event: Chain<Native>,
    wait: PhantomData<fn() -> W>,
}

impl<W: WaitPolicy> Condvar<W> {
    /// Creates a condition variable without waiters.
    pub const fn new() -> Self {
        Condvar { event: Chain::empty(), wait: PhantomData }
    }

    /// Releases the mutex, waits to be notified, and takes the mutex again. All concurrent waiters
    /// must use the same mutex: a thread that cannot take its mutex holds up those behind it. Check
    /// the condition again afterwards: another thread may have taken the mutex first.
    pub fn wait<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        let _ = self.wait_or_expire(guard, None);
    }

    /// [`Condvar::wait`] until `deadline` at the latest. If a notification arrives while the
    /// deadline passes, returns [`Ended::Notified`].
    pub fn wait_until<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>, deadline: Deadline) -> Ended {
        self.wait_or_expire(guard, Some(deadline))
    }

    /// [`Condvar::wait_until`] with the deadline `timeout` from now.
    pub fn wait_for<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>, timeout: Duration) -> Ended {
        self.wait_or_expire(guard, Some(after(timeout)))
    }

    /// Waits as long as `condition` is true.
    pub fn wait_while<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    fn wait_or_expire<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        deadline: Option<Deadline>,
    ) -> Ended {
        let node = Node::new();
        let aborts = Aborts;
        // SAFETY: the mutex is only asked for its address.
        let mutex = core::ptr::from_ref(unsafe { MutexGuard::mutex(guard).raw() }).addr();
        seen::object(self, Object::ConditionWaits, mutex as u64);
        // SAFETY: the node is alive and used for nothing else until `leave`: a panic before `leave`
        // ends the program.
        unsafe { self.event.join(&node, W::WAIT) };
        let (notified, rest) = MutexGuard::unlocked(guard, || {
            // SAFETY: this thread has put the node into the event, and leaves once.
            let left = unsafe {
                let _ = Chain::sleep_at(&node, W::WAIT, deadline);
                self.event.leave(&node, W::WAIT)
            };
            seen::object(self, if left.0 { Object::ConditionWoken } else { Object::ConditionExpired }, 0);
            left
        });
        core::mem::forget(aborts);
        Chain::wake_next(rest, W::WAIT);
        if notified { Ended::Notified } else { Ended::Expired }
    }

    /// Wakes the thread that has waited longest, if there is one.
    pub fn notify_one(&self) {
        seen::object(self, Object::Notifies, 0);
        self.event.notify_one(W::WAIT);
    }

    /// Wakes all waiting threads, one after another.
    pub fn notify_all(&self) {
        seen::object(self, Object::NotifiesAll, 0);
        self.event.notify_all(W::WAIT);
    }
}

impl<W: WaitPolicy> Default for Condvar<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> core::fmt::Debug for Condvar<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::mutex::{FutexMutex, McsMutex, Mutex};
    use super::super::policy::Pause;
    use super::super::raw::Raw;
    use super::*;
    use baton_machine::units::Nanos;
    use baton_machine::{Clock, Machine};
    use std::time::Duration;

    fn hands_over<R: RawMutex + Send + Sync>() {
        let stage = lock_api::Mutex::<R, u32>::new(0);
        let changed: Condvar = Condvar::new();
        std::thread::scope(|s| {
            for turn in 0..3 {
                let (stage, changed) = (&stage, &changed);
                s.spawn(move || {
                    for round in 0..100 {
                        let mut now = stage.lock();
                        changed.wait_while(&mut now, |now| *now != 3 * round + turn);
                        *now += 1;
                        changed.notify_all();
                    }
                });
            }
        });
        assert_eq!(*stage.lock(), 300);
    }

    #[test]
    fn a_broadcast_reaches_all_waiters_of_any_mutex() {
        hands_over::<Raw<crate::lock::plain::Plain<Native>>>();
        hands_over::<Raw<crate::lock::mcs::Mcs<Native>>>();
        assert_eq!(size_of::<Condvar>(), 8);
    }

    #[test]
    fn a_wait_ends_by_notification_or_deadline() {
        let (mutex, changed) = (Mutex::<u32>::new(0), Condvar::<Pause>::default());
        let mut held = mutex.lock();
        assert_eq!(changed.wait_for(&mut held, Duration::from_millis(1)), Ended::Expired);
        std::thread::scope(|s| {
            s.spawn(|| {
                *mutex.lock() = 1;
                changed.notify_one();
            });
            while *held == 0 {
                changed.wait(&mut held);
            }
        });
        assert_eq!(*held, 1);
        let other = (McsMutex::<()>::new(()), FutexMutex::<()>::new(()));
        let past = Deadline { at: Nanos(Native::now(Clock::Monotonic).0 - 1), clock: Clock::Monotonic };
        assert_eq!(changed.wait_until(&mut other.0.lock(), past), Ended::Expired);
        assert_eq!(changed.wait_until(&mut other.1.lock(), past), Ended::Expired);
    }
}
