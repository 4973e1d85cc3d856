//! The word of an instrumented mutex: tries, critical sections and releases are reported to the
//! machine (OCOR's marks).
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 `FREE` | free |
//! | 1 `HELD` | held, no sleeper |
//! | 2 `AWAITED` | held, there may be sleepers |
//!
//! Where the machine takes no hints ([`Machine::HINTS`]), all of this compiles to nothing.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::{Atomic, LockHint, Machine, Section};

pub(super) const FREE: u32 = 0;
pub(super) const HELD: u32 = 1;
pub(super) const AWAITED: u32 = 2;

/// Announces the next access to the lock's word: a try, with `retries_left` tries left including
/// it, or the release if that is 0.
#[inline(always)]
pub(super) fn announce<M: Machine>(retries_left: u32) {
    if M::HINTS {
        M::hint(LockHint { retries_left, progress: M::local().get(Use::Progress) as u32 });
    }
}

/// Reports that the lock was taken.
#[inline(always)]
pub(super) fn entered<M: Machine>() {
    if M::HINTS {
        M::section(Section::Entered);
    }
}

/// Reports that the thread stopped trying.
#[inline(always)]
pub(super) fn given_up<M: Machine>() {
    if M::HINTS {
        M::section(Section::GivenUp);
    }
}

/// Announces and makes one atomic try to change a free word to `held`. Returns whether it did.
/// Acquire: see the last holder's writes.
#[inline(always)]
pub(super) fn attempt<M: Machine>(word: &M::Atomic<u32>, retries_left: u32, held: u32) -> bool {
    attempt_from::<M, FREE>(word, retries_left, held)
}

/// Does what [`attempt`] does for a word that is `FREE` while no thread holds the lock.
#[inline(always)]
pub(super) fn attempt_from<M: Machine, const FREE: u32>(word: &M::Atomic<u32>, retries_left: u32, held: u32) -> bool {
    announce::<M>(retries_left);
    // A compare-exchange, so that on a machine with LL/SC a try that cannot succeed only reads, and
    // its cache becomes a sharer of the line (section 3.2 of OCOR's paper mentions such sharers).
    let taken = word.compare_exchange(FREE, held, Acquire, Relaxed).is_ok();
    if taken {
        entered::<M>();
    }
    taken
}

/// Reports and counts the end of a critical section.
#[inline(always)]
pub(super) fn left<M: Machine>() {
    if M::HINTS {
        let local = M::local();
        local.set(Use::Progress, local.get(Use::Progress).wrapping_add(1));
        M::section(Section::Left);
    }
}

/// Frees the word and counts the critical section. Returns whether there may be sleepers. Does not
/// access the lock after freeing it.
#[inline(always)]
pub(super) fn release<M: Machine>(word: &M::Atomic<u32>) -> bool {
    release_to::<M, FREE>(word) == AWAITED
}

/// Does what [`release`] does for a word that is `FREE` while no thread holds the lock. Returns the
/// word's old value.
#[inline(always)]
pub(super) fn release_to<M: Machine, const FREE: u32>(word: &M::Atomic<u32>) -> u32 {
    announce::<M>(0);
    // Release: the next holder sees this thread's writes. The old value only says whether to wake.
    let was = word.swap(FREE, Release);
    left::<M>();
    was
}
