//! A condition variable that works with the mutexes of every lock of this crate.

use super::WaitPolicy;
use crate::event::{Ended, Event, RawEvent};
use crate::lock::ZeroInit;
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use lock_api::{MutexGuard, RawMutex};

/// A condition variable over [`Event`]: `notify_one` wakes the thread that has waited longest.
///
/// ```
/// use baton_sync::api::{Condvar, McsMutex};
///
/// static READY: McsMutex<bool> = McsMutex::new(false);
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
pub struct Condvar<W = super::SpinPark> {
    event: MaybeUninit<Event<Native>>,
    wait: PhantomData<W>,
}

impl<W: WaitPolicy> Condvar<W> {
    /// Creates a condition variable without waiters.
    pub const fn new() -> Self {
        const { assert_zero_init::<Event<Native>>() };
        Condvar { event: MaybeUninit::zeroed(), wait: PhantomData }
    }

    fn event(&self) -> &Event<Native> {
        // SAFETY: `new` made the event of zeroes, which `ZeroInit` guarantees to be a valid event.
        unsafe { self.event.assume_init_ref() }
    }

    /// Releases the mutex, waits to be notified, and takes the mutex again. All concurrent waiters
    /// must use the same mutex. Check the condition again afterwards: another thread may have taken
    /// the mutex first.
    pub fn wait<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        let _ = self.wait_or_expire(guard, None);
    }

    /// [`Condvar::wait`] until `deadline` at the latest. A notification that arrives while the
    /// deadline passes counts as notified.
    pub fn wait_until<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>, deadline: Deadline) -> Ended {
        self.wait_or_expire(guard, Some(deadline))
    }

    fn wait_or_expire<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        deadline: Option<Deadline>,
    ) -> Ended {
        let waiter = self.event().prepare(W::WAIT);
        // SAFETY: this thread prepared the waiter, and retires it once.
        let notified = MutexGuard::unlocked(guard, || unsafe {
            let _ = self.event().sleep(waiter, W::WAIT, deadline);
            self.event().retire(waiter, W::WAIT)
        });
        if notified { Ended::Notified } else { Ended::Expired }
    }

    /// Wakes the thread that has waited longest, if there is one.
    pub fn notify_one(&self) {
        self.event().notify_one(W::WAIT);
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.event().notify_all(W::WAIT);
    }
}

/// Compiles only for types that are valid as zeroes.
const fn assert_zero_init<T: ZeroInit>() {}

impl<W: WaitPolicy> Default for Condvar<W> {
    fn default() -> Self {
        Condvar::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{FutexMutex, McsMutex, Park};
    use baton_machine::units::Nanos;
    use baton_machine::{Clock, Machine};

    #[test]
    fn threads_take_turns() {
        let turn = McsMutex::<u32, Park>::new(0);
        let changed = Condvar::<Park>::new();
        std::thread::scope(|s| {
            for me in 0..3 {
                let (turn, changed) = (&turn, &changed);
                s.spawn(move || {
                    for round in 0..200 {
                        let mut now = turn.lock();
                        while *now != 3 * round + me {
                            changed.wait(&mut now);
                        }
                        *now += 1;
                        changed.notify_all();
                    }
                });
            }
        });
        assert_eq!(*turn.lock(), 600);
    }

    #[test]
    fn a_deadline_ends_a_wait() {
        let (mutex, condvar) = (FutexMutex::<()>::new(()), Condvar::<Park>::new());
        let mut guard = mutex.lock();
        let at = Nanos(Native::now(Clock::Monotonic).0 + 2_000_000);
        let ended = condvar.wait_until(&mut guard, Deadline { at, clock: Clock::Monotonic });
        assert_eq!(ended, Ended::Expired);
        assert!(Native::now(Clock::Monotonic) >= at && mutex.is_locked());
        condvar.notify_one();
    }
}
