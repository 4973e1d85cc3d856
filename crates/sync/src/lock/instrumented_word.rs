//! The word of an instrumented mutex: tries, critical sections and releases are reported to the machine (OCOR's marks).
//!
//! | word | meaning |
//! | --- | --- |
//! | 0 `FREE` | free |
//! | 1 `HELD` | held, no sleeper |
//! | 2 `AWAITED` | held, there may be sleepers |
//!
//! Where the machine takes no hints ([`Machine::HINTS`]) all of it compiles to nothing.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::local::Use;
use baton_machine::{Atomic, LockHint, Machine, Section};

pub(super) const FREE: u32 = 0;
pub(super) const HELD: u32 = 1;
pub(super) const AWAITED: u32 = 2;

/// Announces the next access to the lock's word: a try with so many left, it included; 0: the release.
#[inline(always)]
pub(super) fn announce<M: Machine>(retries_left: u32) {
    if M::HINTS {
        M::hint(LockHint { retries_left, progress: M::local().get(Use::Progress) as u32 });
    }
}

/// Says that the lock was taken.
#[inline(always)]
pub(super) fn entered<M: Machine>() {
    if M::HINTS {
        M::section(Section::Entered);
    }
}

/// Says that no lock was taken.
#[inline(always)]
pub(super) fn given_up<M: Machine>() {
    if M::HINTS {
        M::section(Section::GivenUp);
    }
}

/// One atomic try to make a free word `held`, announced. Acquire: see the last holder's writes.
#[inline(always)]
pub(super) fn attempt<M: Machine>(word: &M::Atomic<u32>, retries_left: u32, held: u32) -> bool {
    announce::<M>(retries_left);
    // An exchange that compares, so that on a machine with LL/SC a try that cannot succeed only reads
    // (OCOR, section 3.2, speaks of such sharers).
    let taken = word.compare_exchange(FREE, held, Acquire, Relaxed).is_ok();
    if taken {
        entered::<M>();
    }
    taken
}

/// Says that the critical section that was released is over, and counts it.
#[inline(always)]
pub(super) fn left<M: Machine>() {
    if M::HINTS {
        let local = M::local();
        local.set(Use::Progress, local.get(Use::Progress).wrapping_add(1));
        M::section(Section::Left);
    }
}

/// Frees the word, counts the critical section, and says whether there may be sleepers. The lock is not touched afterwards.
#[inline(always)]
pub(super) fn release<M: Machine>(word: &M::Atomic<u32>) -> bool {
    announce::<M>(0);
    // Release: the next holder sees our writes. Nothing is read through what was there but whether to wake.
    let was = word.swap(FREE, Release);
    left::<M>();
    was == AWAITED
}
