//! A barrier with a wait policy.

use super::policy::{Adaptive, WaitPolicy};
use super::seen::{self, Object};
use crate::barrier::{RawBarrier, central::Central};
use baton_machine::Native;
use core::marker::PhantomData;
use core::num::NonZeroU32;

/// A barrier for a number of threads, again and again.
///
/// ```
/// use baton_sync::Barrier;
///
/// static STEP: Barrier = Barrier::new(3);
///
/// let chosen: u32 = std::thread::scope(|s| {
///     let threads = [(); 3].map(|()| s.spawn(|| u32::from(STEP.wait())));
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(chosen, 1);
/// ```
pub struct Barrier<W = Adaptive> {
    raw: Central<Native>,
    wait: PhantomData<fn() -> W>,
}

impl<W: WaitPolicy> Barrier<W> {
    /// Creates a barrier at which the same `threads` threads meet again and again. No other thread
    /// may wait at it.
    ///
    /// # Panics
    /// Panics if `threads` is 0.
    pub const fn new(threads: u32) -> Self {
        let threads = NonZeroU32::new(threads).expect("a barrier needs at least one thread");
        Barrier { raw: Central::fixed(threads), wait: PhantomData }
    }

    /// Waits until all threads wait. Returns true in one of them, or in none if the last to come was
    /// a thread that left ([`Barrier::leave`]).
    #[inline]
    pub fn wait(&self) -> bool {
        seen::object(self, Object::Arrives, 0);
        let chosen = self.raw.wait(0, W::WAIT);
        seen::object(self, Object::Leaves, u64::from(chosen));
        chosen
    }

    /// Arrives without waiting, and takes no part in later meetings. Returns false if all threads
    /// have done so.
    pub fn leave(&self) -> bool {
        self.raw.drop_out(0, W::WAIT).is_ok()
    }
}

impl<W> core::fmt::Debug for Barrier<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Barrier").field("threads", &self.raw.participants()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_leaves_is_waited_for_no_more() {
        let barrier: Barrier = Barrier::new(2);
        assert!(barrier.leave());
        assert!(barrier.wait() && barrier.wait());
        assert!(barrier.leave() && !barrier.leave());
    }
}
