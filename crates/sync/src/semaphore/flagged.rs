//! A semaphore of one word: a number of permits, and a bit that says that threads may wait. A post
//! without a waiter is one exchange and no wake-up.
//!
//! A post that finds the bit clears it and wakes one thread. A thread that has waited sets the bit
//! again when it takes its permit, because it cannot know whether it was the only waiter; and if
//! permits are left then, it wakes the next waiter.

use super::{RawSemaphore, SemaphoreInfo};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// Set while threads may wait.
const AWAITED: u32 = 1 << 31;
/// Largest number of permits.
const MOST: u32 = AWAITED - 1;

/// The number of permits, and the bit `AWAITED`.
#[repr(transparent)]
pub struct Flagged<M: Machine>(M::Atomic<u32>);

impl Flagged<baton_machine::Native> {
    /// Creates a semaphore with `permits` permits in a constant.
    ///
    /// # Panics
    /// Panics if there are more than 2^31 - 1 permits.
    pub const fn with(permits: u32) -> Self {
        assert!(permits <= MOST, "a semaphore has at most 2^31 - 1 permits");
        Flagged(baton_machine::native::cell::NativeAtomic::new(permits))
    }
}

impl<M: Machine> Flagged<M> {
    /// Takes a permit if there is one, leaving `bits` set besides. The error is the state in which
    /// there is none.
    #[inline(always)]
    fn try_with(&self, mut state: u32, bits: u32) -> Result<u32, u32> {
        while state & MOST != 0 {
            // Acquire: see what came before the post. All changes of the word are
            // read-modify-writes, so a post's release sequence goes on to the take of its permit.
            // Relaxed on failure: the new state is tried.
            match self.0.compare_exchange(state, (state - 1) | bits, Acquire, Relaxed) {
                Ok(_) => return Ok((state - 1) | bits),
                Err(now) => state = now,
            }
        }
        Err(state)
    }

    /// Waits for a permit. Returns false if the deadline passed first.
    #[cold]
    fn wait(&self, mut state: u32, wait: Wait, deadline: Option<Deadline>) -> bool {
        let word: *const M::Atomic<u32> = &self.0;
        let mut bits = 0;
        loop {
            match self.try_with(state, bits) {
                Ok(left) => {
                    // Two posts may have found the bit set only once.
                    if bits != 0 && left & MOST != 0 {
                        M::wake::<u32>(word, 1, wait);
                    }
                    return true;
                }
                Err(none) => state = none,
            }
            if state == 0 {
                // Relaxed for both: only tells the next post, whose exchange finds the bit or makes
                // this one fail.
                if let Err(now) = self.0.compare_exchange(0, AWAITED, Relaxed, Relaxed) {
                    state = now;
                    continue;
                }
            }
            bits = AWAITED;
            match M::wait_while(&self.0, AWAITED, wait, deadline) {
                WaitResult::Changed(now) => state = now,
                // The bit may stay without a waiter, which costs a wake-up in vain.
                WaitResult::Expired => return false,
            }
        }
    }
}

// SAFETY: a take replaces a state with permits by one with a permit less in one exchange, so no
// permit is taken twice. A post that finds the bit wakes a waiter; a waiter that gets a permit
// passes the wake-up on if another permit is left, and sets the bit for later posts.
unsafe impl<M: Machine> RawSemaphore<M> for Flagged<M> {
    const INFO: SemaphoreInfo = SemaphoreInfo {
        name: "flagged",
        what: "one word, permits and a bit for waiters; a post without waiters wakes no thread",
        source: "Drepper, Futexes Are Tricky, mutex 2, for a count",
        limits: "in no order; 2^31 - 1 permits",
    };

    fn new(permits: u32) -> Self {
        assert!(permits <= MOST, "a semaphore has at most 2^31 - 1 permits");
        Flagged(M::Atomic::new(permits))
    }

    #[inline]
    fn try_take(&self) -> bool {
        // Relaxed: only a guess at the state; the exchange acquires.
        self.try_with(self.0.load(Relaxed), 0).is_ok()
    }

    #[inline]
    fn take_until(&self, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Relaxed: as in `try_take`.
        match self.try_with(self.0.load(Relaxed), 0) {
            Ok(_) => true,
            Err(state) => self.wait(state, wait, deadline),
        }
    }

    #[inline]
    fn post(&self, wait: Wait) {
        assert!(self.try_post(wait), "a semaphore has at most 2^31 - 1 permits");
    }

    #[inline]
    fn try_post(&self, wait: Wait) -> bool {
        let word: *const M::Atomic<u32> = &self.0;
        // Relaxed: a guess; the exchange decides.
        let mut state = self.0.load(Relaxed);
        loop {
            if state & MOST == MOST {
                return false;
            }
            // Release: what this thread did comes before the take that gets the permit.
            match self.0.compare_exchange(state, (state & MOST) + 1, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state & AWAITED != 0 {
            M::wake::<u32>(word, 1, wait);
        }
        true
    }
}
