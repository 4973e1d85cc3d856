//! An initialization with a wait policy.

use super::policy::{Adaptive, WaitPolicy, after};
use super::seen::{self, Mode};
use crate::once::{Once as Raw, Poisoned};
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::time::Duration;

/// An initialization that one thread runs while the others wait for it.
///
/// ```
/// use baton_sync::Once;
///
/// static TABLE: Once = Once::new();
///
/// let mut runs = 0;
/// TABLE.call_once(|| runs += 1);
/// TABLE.call_once(|| runs += 1);
/// assert_eq!(runs, 1);
/// ```
#[repr(transparent)]
pub struct Once<W = Adaptive> {
    raw: Raw<Native>,
    wait: PhantomData<fn() -> W>,
}

/// A call of an initialization that is recorded. It is told as a lock that the thread which runs the
/// initialization holds, and for which other threads wait. `None`: the call is not told.
struct Call<'a, W: WaitPolicy> {
    once: Option<&'a Once<W>>,
    holds: bool,
}

impl<W: WaitPolicy> Call<'_, W> {
    #[inline(always)]
    fn of(once: &Once<W>) -> Call<'_, W> {
        let once = (cfg!(feature = "record") && !once.raw.is_done()).then_some(once);
        if let Some(once) = once {
            seen::waits(once, Mode::Mutex);
        }
        Call { once, holds: false }
    }

    /// The thread is about to run the initialization, or has waited for another one that ran it.
    #[inline(always)]
    fn runs(&mut self) {
        if let Some(once) = self.once.filter(|_| !self.holds) {
            seen::got(once, Mode::Mutex);
            self.holds = true;
        }
    }

    /// The initialization is over, and the threads that wait for it are about to be woken.
    #[inline(always)]
    fn ends(&mut self) {
        self.runs();
        if let Some(once) = self.once.take() {
            seen::releases(once, Mode::Mutex);
        }
    }
}

impl<W: WaitPolicy> Drop for Call<'_, W> {
    #[inline(always)]
    fn drop(&mut self) {
        self.ends();
    }
}

impl<W: WaitPolicy> Once<W> {
    /// Creates an initialization that no thread has begun.
    pub const fn new() -> Self {
        Once { raw: Raw::fresh(), wait: PhantomData }
    }

    /// Creates an initialization that has been done.
    pub const fn new_completed() -> Self {
        Once { raw: Raw::finished(), wait: PhantomData }
    }

    /// Runs `init` if no call has begun, or waits while another thread's call runs its `init`.
    ///
    /// # Panics
    /// Panics if `init` panicked in an earlier call.
    #[inline]
    pub fn call_once(&self, init: impl FnOnce()) {
        let mut call = Call::of(self);
        let called = self.raw.call(W::WAIT, || {
            call.runs();
            init();
            call.ends();
        });
        drop(call);
        if let Err(poisoned) = called {
            panic!("{poisoned}");
        }
    }

    /// [`Once::call_once`] that also runs `init` if an earlier call's `init` panicked. `init` gets
    /// true in that case.
    #[inline]
    pub fn call_once_force(&self, init: impl FnOnce(bool)) {
        let mut call = Call::of(self);
        self.raw.call_anyway(W::WAIT, |poisoned| {
            call.runs();
            init(poisoned);
            call.ends();
        });
    }

    /// Whether the initialization is done.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.raw.is_done()
    }

    /// Whether the initialization panicked.
    pub fn is_poisoned(&self) -> bool {
        self.raw.is_poisoned()
    }

    /// Waits until another thread has run the initialization.
    ///
    /// # Errors
    /// Fails if the initialization panicked.
    pub fn wait(&self) -> Result<(), Poisoned> {
        self.raw.wait_for(W::WAIT, None).map(|_| ())
    }

    /// [`Once::wait`] until `deadline` at the latest. Returns whether the initialization is done.
    ///
    /// # Errors
    /// Fails if the initialization panicked.
    pub fn wait_until(&self, deadline: Deadline) -> Result<bool, Poisoned> {
        self.raw.wait_for(W::WAIT, Some(deadline))
    }

    /// [`Once::wait_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// Fails if the initialization panicked.
    pub fn wait_for(&self, timeout: Duration) -> Result<bool, Poisoned> {
        self.wait_until(after(timeout))
    }
}

impl<W: WaitPolicy> Default for Once<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> core::fmt::Debug for Once<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Once").field("done", &self.raw.is_done()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_poisons_until_the_initialization_is_forced() {
        let once: Once = Once::new();
        assert_eq!(once.wait_for(Duration::from_millis(1)), Ok(false));
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("as the test wants")))).is_err());
        assert!(once.is_poisoned() && !once.is_completed());
        assert_eq!(once.wait(), Err(Poisoned));
        assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).is_err());
        once.call_once_force(|poisoned| assert!(poisoned));
        assert!(once.is_completed() && once.wait_for(Duration::ZERO) == Ok(true));
        once.call_once(|| panic!("it is done"));
        assert!(Once::<Adaptive>::new_completed().is_completed());
    }
}
