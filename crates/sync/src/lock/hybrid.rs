//! A plain mutex while few threads want it, with [`1spinner`](super::one_spinner) in front of it
//! while many do. The 1spinner paper leaves such a hybrid to future work, because a queue is slower
//! when there is nothing to queue for.
//!
//! The word decides in both modes: the thread that changes it from `FREE` holds the lock. The mode
//! only says how a thread that finds the word held gets to it, so an outdated mode costs time but
//! nothing else:
//!
//! | mode | a thread that finds the word held |
//! | --- | --- |
//! | few | waits for the word |
//! | many | takes `queue`, waits for the word while it holds `queue`, and releases `queue` once it has the word |
//!
//! In the second mode, at most one thread of the queue therefore waits for the word, beside threads
//! that came before the switch.

use super::one_spinner::OneSpinner;
use super::{Counted, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;

/// Number of threads that may wait for the word before the queue is used.
pub const FEW: u16 = 2;
/// Number of consecutive threads that leave no waiter behind in the queue, after which the queue is
/// no longer used.
pub const CALM: u16 = 64;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// The word of a lock that is held while a thread may wait for it.
const AWAITED: u32 = 2;

/// A hybrid lock of 24 bytes.
#[repr(C)]
pub struct Hybrid<M: Machine> {
    word: M::Atomic<u32>,
    /// 0 means the mode for few threads. Otherwise the mode for many, until this many more
    /// consecutive threads leave no waiter behind in the queue.
    mode: M::Atomic<u16>,
    /// Number of threads that wait for the word without having come through the queue.
    waiting: M::Atomic<u16>,
    queue: OneSpinner<M>,
}

impl<M: Machine> Hybrid<M> {
    #[inline(always)]
    fn attempt(&self) -> bool {
        // Acquire: see the last holder's writes.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    fn wait_for_the_word(&self, wait: Wait) {
        // Acquire: see the last holder's writes. The word stays `AWAITED` because others may wait:
        // at worst one wake-up finds no waiter.
        while self.word.swap(AWAITED, Acquire) != FREE {
            let _ = M::wait_while(&self.word, AWAITED, wait, None);
        }
    }

    #[cold]
    fn contend(&self, wait: Wait) {
        // Relaxed, here and below: the mode and the count are only hints.
        if self.mode.load(Relaxed) == 0 {
            if self.waiting.fetch_add(1, Relaxed) < FEW {
                self.wait_for_the_word(wait);
                self.waiting.fetch_add(u16::MAX, Relaxed);
                return;
            }
            self.waiting.fetch_add(u16::MAX, Relaxed);
            self.mode.store(CALM, Relaxed);
        }
        let place = self.queue.lock(wait);
        self.wait_for_the_word(wait);
        // This thread holds the lock, so of all writes to the mode only those that switch it to
        // many can come from other threads at the same time.
        let calm = self.mode.load(Relaxed);
        let next = if self.queue.is_last(place) { calm.saturating_sub(1) } else { CALM };
        if next != calm {
            self.mode.store(next, Relaxed);
        }
        // SAFETY: this thread took the queue above with the same policy.
        unsafe { self.queue.unlock(place, wait) };
    }
}

// SAFETY: the words are zero, and the queue is free when zero.
unsafe impl<M: Machine> ZeroInit for Hybrid<M> {}

// SAFETY: only the thread whose exchange found `FREE` holds the lock. Its Acquire pairs with the
// Release of `unlock`.
unsafe impl<M: Machine> RawLock<M> for Hybrid<M> {
    type Token = ();
    const ENROLS: bool = true;
    const INFO: LockInfo = LockInfo {
        name: "hybrid",
        what: "a plain mutex while few want it, 1spinner before it while many do",
        source: "after the future work of Akkan, Lang and Ionkov, CLUSTER 2013",
        limits: "order of arrival only among those that queue",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 9.0, accesses: 2 },
        c_number: 19,
    };

    fn new() -> Self {
        Hybrid {
            word: M::Atomic::new(FREE),
            mode: M::Atomic::new(0),
            waiting: M::Atomic::new(0),
            queue: OneSpinner::new(),
        }
    }

    /// Creates a free lock in the mode for many that leaves this mode after the next thread without
    /// a waiter behind it.
    fn aged() -> Self {
        Hybrid { mode: M::Atomic::new(1), queue: OneSpinner::aged(), ..Self::new() }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        OneSpinner::<M>::provide(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        if !self.attempt() {
            self.contend(wait);
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        let word: *const M::Atomic<u32> = &self.word;
        // Release: the next holder sees this thread's writes.
        if self.word.swap(FREE, Release) == AWAITED {
            // Waking one waiter is enough: that thread sets AWAITED again in case others wait.
            M::wake::<u32>(word, 1, wait);
        }
    }
}

// SAFETY: like `lock`; a failed exchange writes nothing.
unsafe impl<M: Machine> TryLock<M> for Hybrid<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.attempt().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fifo;
    use super::*;
    use baton_machine::{Clock, Native};

    fn enter(lock: &Hybrid<Native>) {
        lock.lock(Wait::Futex);
        // SAFETY: this thread locked it just above.
        unsafe { lock.unlock((), Wait::Futex) };
    }

    #[test]
    fn it_switches_in_both_directions() {
        let lock = Hybrid::<Native>::new();
        let mode = || lock.mode.load(Relaxed);
        let last = Native::now(Clock::Monotonic).0 + 60_000_000_000;
        let until = |what: &str, done: &dyn Fn() -> bool| {
            while !done() {
                assert!(Native::now(Clock::Monotonic).0 < last, "no {what} within a minute");
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        };
        std::thread::scope(|threads| {
            lock.lock(Wait::Futex);
            for few in 1..=FEW {
                threads.spawn(|| enter(&lock));
                until("waiter", &|| lock.waiting.load(Relaxed) == few);
                assert_eq!(mode(), 0, "{few} waiters are few");
            }
            threads.spawn(|| enter(&lock));
            until("switch", &|| mode() == CALM);
            threads.spawn(|| enter(&lock));
            until("queue", &|| !lock.queue.is_free());
            // SAFETY: this thread locked it above.
            unsafe { lock.unlock((), Wait::Futex) };
        });
        assert_eq!(lock.waiting.load(Relaxed), 0);
        assert!(mode() != 0, "it stays as it is for a while");
        // In each round one thread finds the word held and takes the queue, in which no thread
        // comes behind it: the count of such threads until the mode for few falls by one a round,
        // down to 0.
        for left in (0..mode()).rev() {
            lock.lock(Wait::Futex);
            std::thread::scope(|threads| {
                threads.spawn(|| enter(&lock));
                until("queue", &|| !lock.queue.is_free());
                // SAFETY: this thread locked it above.
                unsafe { lock.unlock((), Wait::Futex) };
            });
            assert_eq!(mode(), left);
        }
    }
}
