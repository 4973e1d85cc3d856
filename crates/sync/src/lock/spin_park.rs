//! The mutex of OCOR's paper (algorithms 1 and 2): a limited number of tries, then sleep in the
//! kernel.
//!
//! The paper calls it a queue spinlock, but it is a spin-then-futex mutex. Where algorithm 1 as
//! printed returns from FUTEX_WAIT without the lock, this one tries again. Two points can be read
//! in more than one way:
//!
//! | lock | what an unlock wakes | tries of a woken thread |
//! | --- | --- | --- |
//! | [`SpinPark`] | a sleeper, if the word says that a thread may sleep | all |
//! | [`spin_park_wakes`](super::spin_park_wakes) | a sleeper at every unlock, as algorithm 2 is printed, if any sleeps | all |
//! | [`spin_park_once`](super::spin_park_once) | the same as the first | one |
//! | [`spin_park_granted`](super::spin_park_granted) | a sleeper, if there is one, and gives it the lock | none |
//!
//! The word is that of `instrumented_word.rs`. A thread that has slept takes the lock as `AWAITED`,
//! or makes the word say so before it sleeps again or gives up: so its wake-up is passed on to the
//! next sleeper.

use super::backoff::{is_late, tries};
use super::instrumented_word::{AWAITED, FREE, HELD, attempt, given_up, release};
use super::{Counted, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::Relaxed;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// The policy for sleeping, whatever the number of tries before.
const SLEEP: Wait = Wait::Futex;

/// The lock: its word is `FREE`, `HELD` or `AWAITED`. With `EVERY` each unlock wakes a sleeper;
/// with `ONCE` a woken thread has one try.
#[repr(transparent)]
pub struct Variant<M: Machine, const EVERY: bool, const ONCE: bool> {
    word: M::Atomic<u32>,
}

/// An unlock wakes a sleeper if the word says so, and the woken thread has all its tries again.
pub type SpinPark<M> = Variant<M, false, false>;

impl<M: Machine, const EVERY: bool, const ONCE: bool> Variant<M, EVERY, ONCE> {
    /// Makes the tries after the first one of `n`, then sleeps, and goes on in rounds of `n` tries
    /// and a sleep. With `ONCE` each later round has one try. Returns `None` if the deadline
    /// passed.
    #[cold]
    fn contend(&self, n: u32, deadline: Option<Deadline>) -> Option<()> {
        let mut held = HELD;
        let mut left = n - 1;
        let again = if ONCE { 1 } else { n };
        loop {
            while left != 0 && !is_late::<M>(left, deadline) {
                M::relax();
                if attempt::<M>(&self.word, left, held) {
                    return Some(());
                }
                left -= 1;
            }
            // Relaxed: only tells the holder, whose exchange in `unlock` will find it or came
            // first.
            match self.word.compare_exchange(HELD, AWAITED, Relaxed, Relaxed) {
                // The lock was freed after the last try: FUTEX_WAIT would not sleep either.
                Err(FREE) => {}
                _ if M::wait_while(&self.word, AWAITED, SLEEP, deadline) == WaitResult::Expired => return None,
                _ => held = AWAITED,
            }
            if attempt::<M>(&self.word, again, held) {
                return Some(());
            }
            left = again - 1;
        }
    }
}

// SAFETY: the lock is one word, and zero is `FREE`.
unsafe impl<M: Machine, const EVERY: bool, const ONCE: bool> ZeroInit for Variant<M, EVERY, ONCE> {}

// SAFETY: only the thread whose exchange found `FREE` holds the lock. Its Acquire pairs with the
// Release of `unlock`.
unsafe impl<M: Machine, const EVERY: bool, const ONCE: bool> RawLock<M> for Variant<M, EVERY, ONCE> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: match (EVERY, ONCE) {
            (false, false) => "spin-park",
            (true, _) => "spin-park-wakes",
            (false, true) => "spin-park-once",
        },
        what: match (EVERY, ONCE) {
            (false, false) => "mutex: n tries (128), then sleep in the kernel",
            (true, _) => "the same, and every unlock wakes a sleeper",
            (false, true) => "the same, and who was woken has one try",
        },
        source: "Yao and Lu, OCOR, algorithms 1 and 2",
        limits: "no order among waiters: a spinner may overtake one that is being woken",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: true,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        // With `EVERY` an unlock looks for sleepers each time, which takes more instructions.
        counted: match (EVERY, ONCE) {
            (false, false) => Counted { instructions: 11.0, accesses: 2 },
            (true, _) => Counted { instructions: 18.0, accesses: 3 },
            (false, true) => Counted { instructions: 11.0, accesses: 2 },
        },
        c_number: match (EVERY, ONCE) {
            (false, false) => 7,
            (true, _) => 11,
            (false, true) => 12,
        },
    };

    fn new() -> Self {
        Variant { word: M::Atomic::new(FREE) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        let n = tries(wait, SPIN_TRIES);
        if !attempt::<M>(&self.word, n, HELD) {
            let taken = self.contend(n, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), _: Wait) {
        let word: *const M::Atomic<u32> = &self.word;
        if release::<M>(&self.word) || EVERY {
            // Wakes after the release, so that a spinner may take the lock before the sleeper runs:
            // OCOR relies on that. One sleeper is enough: it takes the lock as AWAITED, or makes it
            // so again. A spinner that took the lock meanwhile wakes no thread, unless every unlock
            // does. Uses the lock's own policy: waiters sleep whatever policy the caller chose.
            M::wake::<u32>(word, 1, SLEEP);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine, const EVERY: bool, const ONCE: bool> TryLock<M> for Variant<M, EVERY, ONCE> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        let taken = attempt::<M>(&self.word, 1, HELD);
        if !taken {
            given_up::<M>();
        }
        taken.then_some(())
    }
}

// SAFETY: like `lock`. A thread that gives up leaves `AWAITED` behind: at worst one wake-up finds
// no sleeper. If it was woken before, it has since set the word to `AWAITED` or found it so: the
// holder wakes the next sleeper.
unsafe impl<M: Machine, const EVERY: bool, const ONCE: bool> TimedLock<M> for Variant<M, EVERY, ONCE> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        let n = tries(wait, SPIN_TRIES);
        let taken = attempt::<M>(&self.word, n, HELD) || self.contend(n, Some(deadline)).is_some();
        if !taken {
            given_up::<M>();
        }
        taken.then_some(())
    }
}
