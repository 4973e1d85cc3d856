//! An initialization that one thread runs once, while the others wait for it.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// No thread has begun.
const NEW: u32 = 0;
/// A thread runs the initialization.
const RUNS: u32 = 1;
const DONE: u32 = 2;
/// The initialization has panicked.
const POISONED: u32 = 3;

/// The state of an initialization: one word of four bytes, new when zero. All users of a `Once`
/// pass the same `wait`.
#[repr(transparent)]
pub struct Once<M: Machine>(M::Atomic<u32>);

impl Once<baton_machine::Native> {
    /// Creates the state of an initialization that no thread has begun, in a constant.
    pub const fn fresh() -> Self {
        Once(baton_machine::native::cell::NativeAtomic::new(NEW))
    }

    /// Creates the state of an initialization that has been done, in a constant.
    pub const fn finished() -> Self {
        Once(baton_machine::native::cell::NativeAtomic::new(DONE))
    }
}

/// Ends the initialization when it is dropped: as poisoned, unless it has become done.
struct Ending<'a, M: Machine> {
    once: &'a Once<M>,
    ends: u32,
    wait: Wait,
}

impl<M: Machine> Drop for Ending<'_, M> {
    fn drop(&mut self) {
        let word: *const M::Atomic<u32> = &self.once.0;
        // Release: what the initialization wrote is seen by all threads that find it done.
        self.once.0.store(self.ends, Release);
        M::wake::<u32>(word, u32::MAX, self.wait);
    }
}

/// The initialization panicked in an earlier call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the initialization of a `Once` panicked in an earlier call")]
pub struct Poisoned;

impl<M: Machine> Default for Once<M> {
    fn default() -> Self {
        Once::new()
    }
}

impl<M: Machine> Once<M> {
    /// Creates the state of an initialization that no thread has begun.
    pub fn new() -> Self {
        Once(M::Atomic::new(NEW))
    }

    /// Whether the initialization is done, and what it wrote can be read.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Acquire: see what the initialization wrote.
        self.0.load(Acquire) == DONE
    }

    /// Runs `init` if no call has begun, or waits while another thread's call runs its `init`. An
    /// `init` that uses the same `Once` waits for itself.
    ///
    /// # Errors
    /// Fails if `init` panicked in an earlier call.
    #[inline]
    pub fn call(&self, wait: Wait, init: impl FnOnce()) -> Result<(), Poisoned> {
        if self.is_done() { Ok(()) } else { self.call_slowly(wait, false, |_| init()) }
    }

    /// [`Once::call`] that also runs `init` if an earlier call's `init` panicked. `init` gets true
    /// in that case.
    #[inline]
    pub fn call_anyway(&self, wait: Wait, init: impl FnOnce(bool)) {
        if !self.is_done() {
            let called = self.call_slowly(wait, true, init);
            debug_assert!(called.is_ok(), "a panic keeps no caller out");
        }
    }

    #[cold]
    fn call_slowly(&self, wait: Wait, anyway: bool, init: impl FnOnce(bool)) -> Result<(), Poisoned> {
        // Acquire, here and in the wait: see what the initialization wrote, if it is done.
        let mut state = self.0.load(Acquire);
        loop {
            match state {
                DONE => return Ok(()),
                POISONED if !anyway => return Err(Poisoned),
                NEW | POISONED => {
                    // C11: the read of `state` has acquired already. The exchange acquires only for
                    // a word that was poisoned, run, and poisoned again since, which no test does: a
                    // model cannot panic. Acquire on failure: the initialization may be done
                    // meanwhile.
                    match self.0.compare_exchange(state, RUNS, Acquire, Acquire) {
                        Ok(_) => {
                            let mut ending = Ending { once: self, ends: POISONED, wait };
                            init(state == POISONED);
                            ending.ends = DONE;
                            return Ok(());
                        }
                        Err(now) => state = now,
                    }
                }
                running => match M::wait_while(&self.0, running, wait, None) {
                    WaitResult::Changed(now) => state = now,
                    WaitResult::Expired => unreachable!("no deadline was given"),
                },
            }
        }
    }

    /// Waits until the initialization is done, without running it. Returns false if the deadline
    /// passed first.
    ///
    /// # Errors
    /// Fails if the initialization panicked.
    pub fn wait_for(&self, wait: Wait, deadline: Option<Deadline>) -> Result<bool, Poisoned> {
        // Acquire, here and in the wait: see what the initialization wrote.
        let mut state = self.0.load(Acquire);
        loop {
            match state {
                DONE => return Ok(true),
                POISONED => return Err(Poisoned),
                before => match M::wait_while(&self.0, before, wait, deadline) {
                    WaitResult::Changed(now) => state = now,
                    WaitResult::Expired => return Ok(false),
                },
            }
        }
    }

    /// Whether the initialization panicked.
    pub fn is_poisoned(&self) -> bool {
        // Relaxed: the answer may be stale at once, and gives access to nothing.
        self.0.load(Relaxed) == POISONED
    }
}
