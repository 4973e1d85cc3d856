//! Ticket lock: take a number, wait until it is served. Threads enter in the order of their
//! numbers.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};

/// A ticket lock: the number served now and the next number to give out, both wrapping.
#[repr(C)]
pub struct Ticket<M: Machine> {
    serving: M::Atomic<u32>,
    next: M::Atomic<u32>,
}

impl<M: Machine> Ticket<M> {
    /// Takes the next number. Returns it and the number that is served now.
    #[inline(always)]
    pub(super) fn take_number(&self) -> (u32, u32) {
        // Relaxed: the number orders nothing; `serving` does.
        let mine = self.next.fetch_add(1, Relaxed);
        // Acquire: see the last holder's writes, if the taken number is already served.
        (mine, self.serving.load(Acquire))
    }

    /// The number that is served, which waiters watch.
    #[inline(always)]
    pub(super) fn serving(&self) -> &M::Atomic<u32> {
        &self.serving
    }

    /// Whether a thread waits behind the holder. Only the holder may ask.
    #[inline(always)]
    pub(super) fn awaited(&self) -> bool {
        // Relaxed for both: only the holder writes `serving`, and a waiter that is missed is served
        // in the ordinary way.
        self.next.load(Relaxed).wrapping_sub(self.serving.load(Relaxed)) > 1
    }
}

// SAFETY: two zero words mean that number 0 is served and next to be given out, so the lock is
// free.
unsafe impl<M: Machine> ZeroInit for Ticket<M> {}

/// Threads arrive in the order in which they take numbers.
impl<M: Machine> Fifo for Ticket<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns. `serving` is read first so that a number given out between the two loads is
        // seen.
        let serving = self.serving.load(Acquire);
        self.next.load(Acquire) == serving
    }
}

// SAFETY: each number is given out once, and only its owner enters when it is served. Fewer than
// 2^32 threads wait, so a number is not given out again while it is in use. `serving` is read with
// Acquire and stored with Release.
unsafe impl<M: Machine> RawLock<M> for Ticket<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "ticket",
        what: "take a number, wait until it is served",
        source: "Mellor-Crummey and Scott, ACM TOCS 1991",
        limits: "all waiters watch one line; a preempted waiter holds up those behind it",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 12.0, accesses: 4 },
        c_number: 2,
    };

    fn new() -> Self {
        Ticket { serving: M::Atomic::new(0), next: M::Atomic::new(0) }
    }

    fn aged() -> Self {
        Ticket { serving: M::Atomic::new(u32::MAX), next: M::Atomic::new(u32::MAX) }
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        let (mine, mut serving) = self.take_number();
        while serving != mine {
            match M::wait_while(&self.serving, serving, wait, None) {
                WaitResult::Changed(now) => serving = now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        let serving: *const M::Atomic<u32> = &self.serving;
        // Relaxed: only the holder writes it, which is this thread.
        let mine = self.serving.load(Relaxed);
        // Release: the next holder sees this thread's writes.
        self.serving.store(mine.wrapping_add(1), Release);
        // Wakes all sleepers, because the sleeper with the served number cannot be told from the
        // others.
        M::wake::<u32>(serving, u32::MAX, wait);
    }
}

// SAFETY: the number is taken only if it is the one served, so no thread waits for a number that
// was thrown away.
unsafe impl<M: Machine> TryLock<M> for Ticket<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        // Acquire: if the try succeeds, this read follows the last holder's writes.
        let serving = self.serving.load(Acquire);
        // Relaxed for the reason in `take_number`.
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).ok().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    #[test]
    fn numbers_wrap() {
        let lock = Ticket::<Native> { serving: Atomic::new(u32::MAX - 1), next: Atomic::new(u32::MAX - 1) };
        for _ in 0..4 {
            lock.lock(Wait::Pause);
            assert!(lock.try_lock().is_none() && !lock.awaited());
            // SAFETY: locked above.
            unsafe { lock.unlock((), Wait::Pause) };
            assert!(lock.try_lock().is_some());
            // SAFETY: locked above.
            unsafe { lock.unlock((), Wait::Pause) };
        }
        assert_eq!(lock.serving.load(Relaxed), 6);
    }
}
