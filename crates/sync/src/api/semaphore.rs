//! A semaphore with a wait policy.

use super::policy::{Adaptive, WaitPolicy, after};
use super::seen::{self, Object};
use crate::semaphore::{RawSemaphore, flagged::Flagged};
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::time::Duration;

/// A semaphore of four bytes.
///
/// ```
/// use baton_sync::Semaphore;
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
///
/// let first = CONNECTIONS.acquire();
/// let second = CONNECTIONS.acquire();
/// assert!(CONNECTIONS.try_acquire().is_none());
/// drop(first);
/// assert!(CONNECTIONS.try_acquire().is_some());
/// ```
#[repr(transparent)]
pub struct Semaphore<W = Adaptive> {
    raw: Flagged<Native>,
    wait: PhantomData<fn() -> W>,
}

/// A permit, which goes back to its semaphore when it is dropped. A permit that is forgotten is
/// gone.
#[must_use = "a permit that is not kept goes back at once"]
pub struct Permit<'a, W: WaitPolicy = Adaptive>(&'a Semaphore<W>);

impl<W: WaitPolicy> Drop for Permit<'_, W> {
    fn drop(&mut self) {
        // If other threads have posted up to the limit meanwhile, this permit is lost.
        let _ = self.0.post();
    }
}

impl<W: WaitPolicy> Semaphore<W> {
    /// Creates a semaphore with `permits` permits.
    ///
    /// # Panics
    /// Panics if there are more than 2^31 - 1 permits.
    pub const fn new(permits: u32) -> Self {
        Semaphore { raw: Flagged::with(permits), wait: PhantomData }
    }

    /// Waits for a permit and takes it.
    #[inline]
    pub fn acquire(&self) -> Permit<'_, W> {
        self.taken(|| {
            self.raw.take(W::WAIT);
            true
        });
        Permit(self)
    }

    /// Takes a permit if there is one.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit<'_, W>> {
        let taken = self.raw.try_take();
        seen::object(self, if taken { Object::PermitTaken } else { Object::PermitTried }, 0);
        taken.then(|| Permit(self))
    }

    /// Waits for a permit and takes it, or gives up at `deadline`.
    pub fn try_acquire_until(&self, deadline: Deadline) -> Option<Permit<'_, W>> {
        self.taken(|| self.raw.take_until(W::WAIT, Some(deadline))).then(|| Permit(self))
    }

    /// [`Semaphore::try_acquire_until`] with the deadline `timeout` from now.
    pub fn try_acquire_for(&self, timeout: Duration) -> Option<Permit<'_, W>> {
        self.try_acquire_until(after(timeout))
    }

    /// Adds a permit that was not taken before. Returns false if there are 2^31 - 1 already.
    #[inline]
    pub fn post(&self) -> bool {
        seen::object(self, Object::PermitGiven, 0);
        let posted = self.raw.try_post(W::WAIT);
        seen::object(self, Object::PermitWasGiven, 0);
        posted
    }

    /// Takes a permit by `wait`. A semaphore that is recorded is tried first, to tell whether the thread
    /// waits. Returns whether the thread has a permit.
    #[inline(always)]
    fn taken(&self, wait: impl FnOnce() -> bool) -> bool {
        if !cfg!(feature = "record") {
            return wait();
        }
        if self.raw.try_take() {
            seen::object(self, Object::PermitTaken, 0);
            return true;
        }
        seen::object(self, Object::PermitWaits, 0);
        let got = wait();
        seen::object(self, if got { Object::PermitGot } else { Object::PermitGaveUp }, 0);
        got
    }
}

impl<W> core::fmt::Debug for Semaphore<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_taken_posted_and_counted() {
        let semaphore: Semaphore = Semaphore::new(0);
        assert!(semaphore.try_acquire_for(Duration::from_millis(1)).is_none());
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| core::mem::forget(semaphore.acquire()));
            }
            (0..3).for_each(|_| assert!(semaphore.post()));
        });
        assert!(semaphore.try_acquire().is_none());
        let full: Semaphore = Semaphore::new(u32::MAX >> 1);
        assert!(!full.post());
        let permit = full.acquire();
        assert!(full.post() && !full.post());
        core::mem::forget(permit);
    }
}
