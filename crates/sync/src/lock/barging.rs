//! Locks whose waiters queue up, and whose queue is passed over while it sleeps.
//!
//! A lock that is handed to the next waiter stands idle until that waiter runs; where waiters sleep, every hand-off then costs a
//! wake-up. Here the queue orders the waiters only: its first one, the *head*, competes for a word that any thread may take while
//! it is free (barging). A release frees the word at once, even if all waiters sleep, and wakes one waiter at most.
//!
//! The word says whether the lock is held, and what the head does:
//!
//! | word | meaning |
//! | --- | --- |
//! | `FREE`, `HELD` | the head is up and competes, or there is none |
//! | `HELD` and `SLEEPS` | the head sleeps: the release wakes it |
//! | `WOKEN`, `HELD` and `WOKEN` | the head was woken, and does not run yet |
//! | `HELD` and `STARVED` | the head sleeps and has been passed over often enough: the release grants it the lock |
//! | `HELD` and `GRANTED` | the lock is the head's, which does not run yet |
//!
//! A thread that finds the lock held joins the queue if the head is up, and otherwise stands in for it for some tries: behind a
//! head that does not run it would go to sleep although the lock is free every now and then.
//!
//! A thread that took the lock as the head makes the next waiter the head: at once if that one is awake, so that it watches the word
//! before the release; after the release if it sleeps, so that no wake-up lies inside a critical section.

use super::backoff::tries;
use super::{LockInfo, RawLock, Token, TryLock, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// What the head does; no flag: it is up.
const SLEEPS: u32 = 2;
const WOKEN: u32 = 4;
const STARVED: u32 = 8;
const GRANTED: u32 = 16;

/// How often the head sleeps before the lock is granted to it. A grant leaves the lock idle until the head runs, so that it
/// must stay rare; the bound keeps a waiter from starving.
pub const PATIENCE: u32 = 16;

/// What sleeping is, whatever the number of tries before it.
pub(super) const SLEEP: Wait = Wait::Futex;

/// The queue of a [`Barging`] lock.
///
/// # Safety
/// [`enter`](Queue::enter) returns to one thread at a time, until that thread has called [`pass_on`](Queue::pass_on) and, if that
/// returned a debt, [`settle`](Queue::settle). `settle` touches nothing of the queue that a waiter behind does not keep alive, except
/// addresses to wake sleepers.
pub unsafe trait Queue<M: Machine>: ZeroInit + Send + Sync + 'static {
    /// What is said of the lock.
    const INFO: LockInfo;

    /// A place in the queue.
    type Place: Copy;

    /// An empty queue.
    fn new() -> Self;

    /// As [`RawLock::aged`].
    fn aged() -> Self;

    /// As [`RawLock::provide`].
    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        let _ = memory;
        true
    }

    /// Joins the queue and waits, with so many tries before it sleeps, until the thread is the head.
    fn enter(&self, tries: u32) -> Self::Place;

    /// The head holds the lock: makes the next waiter the head, or returns the debt to [`settle`](Queue::settle) after the release.
    fn pass_on(&self, place: Self::Place) -> Debt;

    /// Makes a sleeper the head and wakes it. Called once for each debt, after the release.
    ///
    /// # Safety
    /// `queue` was alive when the lock was released, and `debt` came from its `pass_on`.
    unsafe fn settle(queue: *const Self, debt: Debt);
}

/// What the holder still has to do for the queue once it has released the lock: nothing, if zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Debt(pub(super) usize);

impl Debt {
    pub(super) const NONE: Debt = Debt(0);
}

impl Token for Debt {
    #[inline(always)]
    fn to_word(self) -> usize {
        self.0
    }
    #[inline(always)]
    fn from_word(word: usize) -> Self {
        Debt(word)
    }
}

/// What the flag of a waiter with a node says: it is the head, it waits, or it sleeps.
pub(super) const HEAD: u32 = 0;
pub(super) const WAITS: u32 = 1;
pub(super) const ASLEEP: u32 = 2;

/// Waits until `flag` says that the waiter is the head, asleep after so many tries.
pub(super) fn watch<M: Machine>(flag: &M::Atomic<u32>, tries: u32) {
    for _ in 0..tries {
        // Acquire: the flag's node may be freed or used anew afterwards.
        if flag.load(Acquire) != WAITS {
            return;
        }
        M::relax();
    }
    // Relaxed: a message to the one in front, whose exchange finds it. Acquire: or has come before, as above.
    if flag.compare_exchange(WAITS, ASLEEP, Relaxed, Acquire).is_ok() {
        let _ = M::wait_while(flag, ASLEEP, SLEEP, None);
    }
}

/// A lock with a queue that is passed over while it sleeps, until its head has slept `P` times.
#[repr(C)]
pub struct Barging<M: Machine, Q, const P: u32 = PATIENCE> {
    queue: Q,
    word: M::Atomic<u32>,
}

impl<M: Machine, Q: Queue<M>, const P: u32> Barging<M, Q, P> {
    /// One try of a thread that is not the head, whatever the head does.
    #[inline(always)]
    fn barge(&self) -> bool {
        // Relaxed: a hint; the exchange decides.
        let now = self.word.load(Relaxed);
        // Acquire: see the last holder's writes.
        now & HELD == 0 && self.word.compare_exchange(now, now | HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn contend(&self, tries: u32) -> Debt {
        if self.stand_in(tries) {
            return Debt::NONE;
        }
        let place = self.queue.enter(tries);
        self.compete(tries);
        let debt = self.queue.pass_on(place);
        if debt != Debt::NONE {
            // Relaxed: tells only those that come before the next head is up. It may be up already, and have said so.
            let _ = self.word.compare_exchange(HELD, HELD | WOKEN, Relaxed, Relaxed);
        }
        debt
    }

    /// Tries in place of a head that does not run.
    fn stand_in(&self, tries: u32) -> bool {
        for _ in 0..tries {
            if self.barge() {
                return true;
            }
            // Relaxed: a hint; a wrong one costs tries or a place in the queue.
            if self.word.load(Relaxed) & (SLEEPS | WOKEN) == 0 {
                return false;
            }
            M::relax();
        }
        false
    }

    /// The head takes the lock.
    fn compete(&self, tries: u32) {
        let mut slept = 0;
        loop {
            for _ in 0..tries {
                // Relaxed: a hint; the exchanges decide.
                let now = self.word.load(Relaxed);
                // Acquire: see the last holder's writes.
                if now & HELD == 0 && self.word.compare_exchange(now, HELD, Acquire, Relaxed).is_ok() {
                    return;
                }
                if now == HELD | WOKEN {
                    // Relaxed: says that the head is up.
                    let _ = self.word.compare_exchange(now, HELD, Relaxed, Relaxed);
                }
                M::relax();
            }
            let asleep = HELD | if slept < P { SLEEPS } else { STARVED };
            // Relaxed: a message to the holder's exchange in `release`, which finds it or has come before.
            if self.word.compare_exchange(HELD, asleep, Relaxed, Relaxed).is_err() {
                continue;
            }
            // Its acquire: see the writes of the holder that granted the lock.
            let _ = M::wait_while(&self.word, asleep, SLEEP, None);
            if asleep & STARVED != 0 {
                // Relaxed: no other thread changes the word while it is `GRANTED`, and none reads anything through it.
                self.word.store(HELD, Relaxed);
                return;
            }
            slept += 1;
        }
    }

    /// Frees the word while the head sleeps or was woken, or grants it. The lock is not touched afterwards.
    #[cold]
    fn release(&self) {
        let word: *const M::Atomic<u32> = &self.word;
        loop {
            // Relaxed: only what the head does is read.
            let now = self.word.load(Relaxed);
            let (then, wakes) = match now & !HELD {
                SLEEPS => (WOKEN, true),
                STARVED => (HELD | GRANTED, true),
                up_or_woken => (up_or_woken, false),
            };
            // Release: the next holder sees our writes.
            if self.word.compare_exchange(now, then, Release, Relaxed).is_ok() {
                if wakes {
                    M::wake::<u32>(word, 1, SLEEP);
                }
                return;
            }
        }
    }
}

// SAFETY: a zero word, which is `FREE`, beside a queue that is empty when zero.
unsafe impl<M: Machine, Q: Queue<M>, const P: u32> ZeroInit for Barging<M, Q, P> {}

// SAFETY: a thread enters when its exchange set `HELD`, or as the head when it was granted the word, which happens only
// while it sleeps as the head, and there is one head. Its acquire pairs with the release of the word.
unsafe impl<M: Machine, Q: Queue<M>, const P: u32> RawLock<M> for Barging<M, Q, P> {
    type Token = Debt;
    const INFO: LockInfo = Q::INFO;

    fn new() -> Self {
        Barging { queue: Q::new(), word: M::Atomic::new(FREE) }
    }

    fn aged() -> Self {
        Barging { queue: Q::aged(), word: M::Atomic::new(FREE) }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        Q::provide(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) -> Debt {
        // Acquire: see the last holder's writes.
        match self.word.compare_exchange(FREE, HELD, Acquire, Relaxed) {
            Ok(_) => Debt::NONE,
            Err(_) => self.contend(tries(wait, SPIN_TRIES)),
        }
    }

    #[inline]
    unsafe fn unlock(&self, debt: Debt, _: Wait) {
        let queue: *const Q = &self.queue;
        // Release: the next holder sees our writes. Relaxed on failure: we learn only that the head is not up.
        if self.word.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.release();
        }
        if debt != Debt::NONE {
            // SAFETY: the queue was alive above, and the debt is of its `pass_on`.
            unsafe { Q::settle(queue, debt) };
        }
    }
}

// SAFETY: as `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine, Q: Queue<M>, const P: u32> TryLock<M> for Barging<M, Q, P> {
    #[inline]
    fn try_lock(&self) -> Option<Debt> {
        self.barge().then_some(Debt::NONE)
    }
}
