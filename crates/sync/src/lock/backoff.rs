//! How often a waiter tries, and how long it stays away between tries.
//!
//! Bounded, randomised exponential back-off (Anderson, IEEE TPDS 1990): a thread that loses a race
//! stays away for a random time, and the bound of that time doubles with every loss.

use baton_machine::local::Use;
use baton_machine::units::Cycles;
use baton_machine::{Deadline, Machine, Wait};
use core::marker::PhantomData;

/// First bound in cycles: about the time that a line takes between two cores of one chip.
const FIRST: u64 = 64;
/// Last bound in cycles: long compared to a hand-off, short compared to a scheduler's time slice.
const LAST: u64 = 8192;

/// Returns the number of tries of [`Wait::SpinPark`], but at least 1, or no thread would ever take
/// the lock. For other policies returns `usual`, the lock's own number.
#[inline(always)]
pub(crate) fn tries(wait: Wait, usual: u32) -> u32 {
    match wait {
        Wait::SpinPark(n) => n.max(1),
        _ => usual,
    }
}

/// The back-off state of one acquisition.
pub(crate) struct Backoff<M> {
    bound: u64,
    machine: PhantomData<M>,
}

impl<M: Machine> Backoff<M> {
    /// Starts with the first bound.
    pub(crate) fn new() -> Self {
        Backoff { bound: FIRST, machine: PhantomData }
    }

    /// Stays away for a random time after a lost race, and doubles the bound.
    pub(crate) fn lost(&mut self) {
        M::work(Cycles(1 + random::<M>() % self.bound));
        self.bound = (self.bound * 2).min(LAST);
    }
}

/// Returns the next number of the thread's own generator. The thread's index is the seed, so that a
/// run on a deterministic machine is repeatable.
fn random<M: Machine>() -> u64 {
    let local = M::local();
    let state = match local.get(Use::Backoff) as u64 {
        // 0 means not seeded yet. Adding 1 to the index keeps index 0 off 0, the generator's fixed
        // point.
        0 => (u64::from(local.index()) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        state => state,
    };
    // Marsaglia's xorshift64: every state but 0 leads to another non-zero state.
    let state = state ^ (state << 13);
    let state = state ^ (state >> 7);
    let state = state ^ (state << 17);
    local.set(Use::Backoff, state as usize);
    state
}

/// Tries between two looks at the clock, in a wait with a deadline.
const TRIES_A_LOOK: u32 = 64;

/// Whether a waiter at this try looks at the clock, and finds that the deadline has passed.
#[inline(always)]
pub(crate) fn is_late<M: Machine>(at_try: u32, deadline: Option<Deadline>) -> bool {
    at_try.is_multiple_of(TRIES_A_LOOK) && deadline.is_some_and(passed::<M>)
}

/// Whether the deadline has passed.
pub(crate) fn passed<M: Machine>(deadline: Deadline) -> bool {
    M::now(deadline.clock) >= deadline.at
}
