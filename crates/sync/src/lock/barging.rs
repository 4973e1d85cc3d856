//! Locks with a queue of waiters that other threads may overtake while it sleeps.
//!
//! A lock that is handed to the next waiter is idle until that waiter runs; where waiters sleep,
//! every hand-off costs a wake-up. Here the queue only orders the waiters: its first one, the
//! *head*, competes for a word that any thread may take while it is free (barging). A release frees
//! the word at once, even if all waiters sleep, and wakes at most one waiter.
//!
//! The word says whether the lock is held, and what the head does:
//!
//! | word | meaning |
//! | --- | --- |
//! | `FREE`, `HELD` | the head is awake and competes, or there is none |
//! | `HELD` and `SLEEPS` | the head sleeps: the release wakes it |
//! | `WOKEN`, `HELD` and `WOKEN` | the head was woken, and does not run yet |
//! | `HELD` and `STARVED` | the head sleeps and has been overtaken often enough: the release grants it the lock |
//! | `HELD` and `GRANTED` | the lock belongs to the head, which does not run yet |
//!
//! A thread that finds the lock held joins the queue if the head is awake, or is to get the lock by
//! a grant. Otherwise it first tries a few times in the head's place: behind a head that does not
//! run, it would go to sleep although the lock is free every now and then.
//!
//! A thread that took the lock as the head makes the next waiter the head: at once if that waiter
//! is awake, so that it watches the word before the release; after the release if it sleeps, so
//! that no wake-up lies inside a critical section.

use super::backoff::tries;
use super::{LockInfo, RawLock, Token, TryLock, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Flags for what the head does; without a flag it is awake.
const SLEEPS: u32 = 2;
const WOKEN: u32 = 4;
const STARVED: u32 = 8;
const GRANTED: u32 = 16;

/// How often the head sleeps before the lock is granted to it. A grant leaves the lock idle until
/// the head runs, so it must be rare; the bound prevents starvation.
pub const PATIENCE: u32 = 16;

/// The policy for sleeping, whatever the number of tries before.
pub(super) const SLEEP: Wait = Wait::Futex;

/// The queue of a [`Barging`] lock.
///
/// # Safety
/// [`enter`](Queue::enter) returns in one thread at a time, until that thread has called
/// [`pass_on`](Queue::pass_on) and, if that returned a debt, [`settle`](Queue::settle). `settle`
/// accesses nothing of the queue but memory that a waiter behind keeps alive, and addresses to wake
/// sleepers.
pub unsafe trait Queue<M: Machine>: ZeroInit + Send + Sync + 'static {
    /// Description of the lock.
    const INFO: LockInfo;

    /// A thread's place in the queue.
    type Place: Copy;

    /// Creates an empty queue.
    fn new() -> Self;

    /// Creates a queue whose counters are about to wrap, like [`RawLock::aged`].
    fn aged() -> Self;

    /// Makes sure that the next call allocates nothing, like [`RawLock::provide`].
    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        let _ = memory;
        true
    }

    /// Joins the queue and waits until the thread is the head. It sleeps after `tries` tries.
    fn enter(&self, tries: u32) -> Self::Place;

    /// Called by the head when it holds the lock. Makes the next waiter the head, or returns a debt
    /// for [`settle`](Queue::settle) after the release.
    fn pass_on(&self, place: Self::Place) -> Debt;

    /// Makes a sleeper the head and wakes it. Called once for each debt, after the release.
    ///
    /// # Safety
    /// `queue` was alive when the lock was released, and `debt` came from its `pass_on`.
    unsafe fn settle(queue: *const Self, debt: Debt);
}

/// What the holder must still do for the queue after releasing the lock; zero: nothing.
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

/// The flag of a waiter with a node: it is the head, it waits, or it sleeps.
pub(super) const HEAD: u32 = 0;
pub(super) const WAITS: u32 = 1;
pub(super) const ASLEEP: u32 = 2;

/// Waits until `flag` says that the waiter is the head. The thread sleeps after `tries` tries.
pub(super) fn watch<M: Machine>(flag: &M::Atomic<u32>, tries: u32) {
    for _ in 0..tries {
        // Acquire: the node with the flag may be freed or reused afterwards.
        if flag.load(Acquire) != WAITS {
            return;
        }
        M::relax();
    }
    // Relaxed: only tells the thread in front, whose exchange will find it. Acquire on failure:
    // that exchange came first, and the node may be freed or reused afterwards.
    if flag.compare_exchange(WAITS, ASLEEP, Relaxed, Acquire).is_ok() {
        let _ = M::wait_while(flag, ASLEEP, SLEEP, None);
    }
}

/// A lock with a queue that other threads may overtake while it sleeps, until its head has slept
/// `P` times.
#[repr(C)]
pub struct Barging<M: Machine, Q, const P: u32 = PATIENCE> {
    queue: Q,
    word: M::Atomic<u32>,
}

impl<M: Machine, Q: Queue<M>, const P: u32> Barging<M, Q, P> {
    /// Tries once, as a thread that is not the head, whatever the head does. Returns whether it
    /// took the lock.
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
            // Relaxed: the flag only informs threads that come before the next head is awake. The
            // next head may already be awake, and have cleared the flag.
            let _ = self.word.compare_exchange(HELD, HELD | WOKEN, Relaxed, Relaxed);
        }
        debt
    }

    /// Tries in the place of a head that does not run. Returns whether it took the lock.
    fn stand_in(&self, tries: u32) -> bool {
        for _ in 0..tries {
            if self.barge() {
                return true;
            }
            // Relaxed: a hint; a wrong one costs only tries or a place in the queue.
            if self.word.load(Relaxed) & (SLEEPS | WOKEN) == 0 {
                return false;
            }
            M::relax();
        }
        false
    }

    /// Competes for the lock as the head until it has it.
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
                    // Relaxed: only says that the head is awake.
                    let _ = self.word.compare_exchange(now, HELD, Relaxed, Relaxed);
                }
                M::relax();
            }
            let asleep = HELD | if slept < P { SLEEPS } else { STARVED };
            // Relaxed: only tells the holder, whose exchange in `release` will find it or came
            // first.
            if self.word.compare_exchange(HELD, asleep, Relaxed, Relaxed).is_err() {
                continue;
            }
            // The wait's acquire: see the writes of the holder that granted the lock.
            let _ = M::wait_while(&self.word, asleep, SLEEP, None);
            if asleep & STARVED != 0 {
                // Relaxed: no other thread changes the word while it is `GRANTED`, and none reads
                // data on account of it.
                self.word.store(HELD, Relaxed);
                return;
            }
            slept += 1;
        }
    }

    /// Releases the lock while the head sleeps or was woken: frees the word or grants the lock.
    /// Does not access the lock afterwards.
    #[cold]
    fn release(&self) {
        let word: *const M::Atomic<u32> = &self.word;
        loop {
            // Relaxed: only the head's state is read.
            let now = self.word.load(Relaxed);
            let (then, wakes) = match now & !HELD {
                SLEEPS => (WOKEN, true),
                STARVED => (HELD | GRANTED, true),
                up_or_woken => (up_or_woken, false),
            };
            // Release: the next holder sees this thread's writes.
            if self.word.compare_exchange(now, then, Release, Relaxed).is_ok() {
                if wakes {
                    M::wake::<u32>(word, 1, SLEEP);
                }
                return;
            }
        }
    }
}

// SAFETY: a zero word is `FREE`, and the queue is empty when zero.
unsafe impl<M: Machine, Q: Queue<M>, const P: u32> ZeroInit for Barging<M, Q, P> {}

// SAFETY: a thread enters when its exchange set `HELD`, or as the head when the lock was granted to
// it, which happens only while it sleeps as the head, and there is one head. Its acquire pairs with
// the release of the word.
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
        // Release: the next holder sees this thread's writes. Relaxed on failure: it says only that
        // the head is not awake.
        if self.word.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.release();
        }
        if debt != Debt::NONE {
            // SAFETY: the queue was alive above, and the debt came from its `pass_on`.
            unsafe { Q::settle(queue, debt) };
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine, Q: Queue<M>, const P: u32> TryLock<M> for Barging<M, Q, P> {
    #[inline]
    fn try_lock(&self) -> Option<Debt> {
        self.barge().then_some(Debt::NONE)
    }
}
