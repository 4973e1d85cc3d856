//! A mutex of one word that is fair in the long run. While it is free any thread may take it, but a
//! waiter that has been passed over for a time is handed the lock.
//!
//! Waiters form a ring. An unlock frees the lock and calls the oldest waiter, which competes with
//! threads that come at that moment, and keeps its place if it loses. The first unlock that passes a
//! waiter over in this way notes the time; the first one that comes `MICROS` microseconds later does
//! not free the lock but hands it to that waiter. So threads that lock again and again take turns of
//! `MICROS` at worst: with `n` waiters in front, a waiter has the lock after `n + 1` turns, each as
//! long as `MICROS`, two critical sections and two wake-ups.
//!
//! | word | meaning |
//! | --- | --- |
//! | bit 0 `HELD` | a thread holds the lock |
//! | bit 1 `GUARD` | a thread changes the ring |
//! | bit 2 `CROWD` | a thread waits for the guard |
//! | other bits | the node of the waiter that came last; its `next` is the oldest one |
//!
//! | node's flag | meaning | who sets it, under the guard but for the last one |
//! | --- | --- | --- |
//! | 1 `WAITING` | in the ring | the waiter, when it has found the lock held |
//! | 2 `CALLED` | in the ring, and is to compete | an unlock that freed the lock |
//! | 3 `PROMISED` | out of the ring, and about to be granted the lock | an unlock that hands it over |
//! | 0 `GRANTED` | has the lock | the same unlock, after it has given the guard back |
//!
//! The word changes only by exchanges, so that the release of the lock or of the guard reaches each
//! later holder of either.

use super::{Counted, HandOver, LockInfo, Posix, RawLock, TimedLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use crate::ring::{self, Link};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Clock, Deadline, Machine, Wait, WaitResult};

const FREE: usize = 0;
const HELD: usize = 1;
const GUARD: usize = 2;
const CROWD: usize = 4;
const BITS: usize = HELD | GUARD | CROWD;

const GRANTED: u32 = 0;
const WAITING: u32 = 1;
const CALLED: u32 = 2;
const PROMISED: u32 = 3;

/// How long a waiter may be passed over, in microseconds: long compared to a wake-up, which each
/// hand-over costs.
pub const PATIENCE: u32 = 500;

/// The lock's word. The waiter that has waited longest is handed the lock once it has been passed
/// over for `MICROS` microseconds.
#[repr(transparent)]
pub struct Fair<M: Machine, const MICROS: u32 = PATIENCE>(M::Atomic<usize>);

impl<M: Machine, const MICROS: u32> Fair<M, MICROS> {
    /// Takes the lock if it is free. Returns whether it did.
    fn barge(&self) -> bool {
        // Relaxed: the exchange decides.
        let mut now = self.0.load(Relaxed);
        while now & HELD == 0 {
            // Acquire: see the last holder's writes.
            match self.0.compare_exchange(now, now | HELD, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Waits for the guard and takes it. Returns the last node of the ring.
    fn take_guard(&self, wait: Wait) -> Link<M> {
        // Relaxed: the exchange below decides whether this thread gets the guard.
        let mut now = self.0.load(Relaxed);
        loop {
            if now & GUARD != 0 {
                now = self.wait_in_crowd(now, wait);
                continue;
            }
            // Acquire: see how earlier holders of the guard left the ring.
            match self.0.compare_exchange(now, now | GUARD, Acquire, Relaxed) {
                Ok(_) => return Ptr(core::ptr::with_exposed_provenance_mut(now & !BITS)),
                Err(other) => now = other,
            }
        }
    }

    /// Waits until the word, in which a thread has the guard, is no longer `seen`. Returns the word.
    #[cold]
    fn wait_in_crowd(&self, seen: usize, wait: Wait) -> usize {
        // Relaxed: only tells the thread that gives the guard back, whose exchange finds the bit or
        // makes this one fail.
        if seen & CROWD == 0
            && let Err(now) = self.0.compare_exchange(seen, seen | CROWD, Relaxed, Relaxed)
        {
            return now;
        }
        match M::wait_while(&self.0, seen | CROWD, wait, None) {
            WaitResult::Changed(now) => now,
            WaitResult::Expired => unreachable!("no deadline was given"),
        }
    }

    /// Gives the guard back, with `last` as the last node of the ring, and releases the lock too if
    /// `frees`. Accesses nothing of the lock but its address afterwards.
    fn give_guard(&self, last: Link<M>, frees: bool, wait: Wait) {
        let word: *const M::Atomic<usize> = &self.0;
        let ring = last.0.expose_provenance();
        // Relaxed: the exchange decides.
        let mut now = self.0.load(Relaxed);
        loop {
            let held = if frees { 0 } else { now & HELD };
            // Release: the next holder of the guard sees the ring, and the next holder of the lock
            // this thread's writes.
            match self.0.compare_exchange(now, ring | held, Release, Relaxed) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        if now & CROWD != 0 {
            M::wake::<usize>(word, u32::MAX, wait);
        }
    }

    #[cold]
    fn contend(&self, wait: Wait, deadline: Option<Deadline>) -> Option<()> {
        if self.barge() {
            return Some(());
        }
        let node = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from its list, and is given back below.
        let taken = unsafe { self.queue(node.as_ref(), wait, deadline) };
        // SAFETY: the node is out of the ring; a thread that may still wake this one uses only the
        // flag's address.
        unsafe { nodes::give(node) };
        taken.then_some(())
    }

    /// Waits in the ring. Returns whether the thread has the lock; if not, the deadline has passed.
    /// The node is in no ring afterwards.
    ///
    /// # Safety
    /// The node is in no ring, and no other thread uses it.
    unsafe fn queue(&self, node: &Node<M>, wait: Wait, deadline: Option<Deadline>) -> bool {
        let last = self.take_guard(wait);
        // A lock that is held here is released by a thread that needs the guard, and so finds the
        // node.
        if self.barge() {
            self.give_guard(last, false, wait);
            return true;
        }
        // Relaxed for both: the guard publishes the node.
        node.waiting.store(WAITING, Relaxed);
        node.ticket.store(0, Relaxed);
        // SAFETY: this thread has the guard, and the node lives until it has left the ring.
        let last = unsafe { ring::add(last, node) };
        self.give_guard(last, false, wait);
        loop {
            let expired = match M::wait_while(&node.waiting, WAITING, wait, deadline) {
                WaitResult::Changed(PROMISED | GRANTED) => return Self::await_grant(node, wait),
                WaitResult::Changed(_) => false,
                WaitResult::Expired => true,
            };
            // SAFETY: the node was put into the ring above, and has not been found out of it.
            if let Some(taken) = unsafe { self.compete(node, expired, wait) } {
                return taken;
            }
        }
    }

    /// Competes for the lock as a waiter that was called, or whose wait `expired`. Returns whether
    /// the thread has the lock, or `None` if it keeps its place and is to wait on.
    ///
    /// # Safety
    /// The calling thread has put `node` into the ring, and only a hand-over has taken it out.
    unsafe fn compete(&self, node: &Node<M>, expired: bool, wait: Wait) -> Option<bool> {
        let last = self.take_guard(wait);
        // Relaxed: only a flag that a thread has changed under the guard is of interest.
        if matches!(node.waiting.load(Relaxed), PROMISED | GRANTED) {
            self.give_guard(last, false, wait);
            return Some(Self::await_grant(node, wait));
        }
        let taken = self.barge();
        if !taken && !expired {
            node.waiting.store(WAITING, Relaxed);
            self.give_guard(last, false, wait);
            return None;
        }
        // SAFETY: this thread has the guard, and a node that no lock was promised is in the ring.
        let last = unsafe { ring::remove(last, node) };
        self.give_guard(last, false, wait);
        Some(taken)
    }

    /// Waits until the lock that was promised is granted. Returns true: the thread has the lock.
    fn await_grant(node: &Node<M>, wait: Wait) -> bool {
        // Acquire, by the wait: see the last holder's writes.
        let _ = M::wait_while(&node.waiting, PROMISED, wait, None);
        true
    }

    /// Ends the critical section while threads wait, or change the ring: calls the oldest waiter, or
    /// hands it the lock if `fair` or if it has been passed over for long. Accesses nothing of the
    /// lock but addresses afterwards.
    #[cold]
    fn release(&self, fair: bool, wait: Wait) {
        let last = self.take_guard(wait);
        // SAFETY: this thread has the guard.
        let Some(oldest) = (unsafe { ring::first(last) }) else { return self.give_guard(last, true, wait) };
        // SAFETY: a node in the ring is alive, because removing it needs the guard.
        let (oldest, flag) = unsafe { (oldest.as_ref(), &raw const (*oldest.as_ptr()).waiting) };
        if fair || Self::is_overdue(oldest) {
            // SAFETY: this thread has the guard, and the node is in the ring.
            let last = unsafe { ring::remove(last, oldest) };
            // Relaxed: flags change under the guard.
            oldest.waiting.store(PROMISED, Relaxed);
            self.give_guard(last, false, wait);
            // Release: the waiter sees this thread's writes. The node lives until here, because its
            // waiter waits for this store.
            oldest.waiting.store(GRANTED, Release);
            return M::wake::<u32>(flag, 1, wait);
        }
        // Relaxed for both: flags change under the guard. A waiter that was called before, and does
        // not run yet, needs no second wake-up.
        let waits = oldest.waiting.load(Relaxed) == WAITING;
        if waits {
            oldest.waiting.store(CALLED, Relaxed);
        }
        self.give_guard(last, true, wait);
        if waits {
            M::wake::<u32>(flag, 1, wait);
        }
    }

    /// Whether the oldest waiter has been passed over for `MICROS`; notes the time when it is passed
    /// over for the first time. Its node keeps that time in place of a ticket.
    fn is_overdue(oldest: &Node<M>) -> bool {
        let now = M::now(Clock::Monotonic).0;
        // Relaxed for both: only holders of the guard access the time.
        match oldest.ticket.load(Relaxed) {
            0 => {
                oldest.ticket.store(now.max(1), Relaxed);
                MICROS == 0
            }
            since => now.saturating_sub(since) >= u64::from(MICROS) * 1_000,
        }
    }
}

// SAFETY: the lock is one word, free and without waiters when zero.
unsafe impl<M: Machine, const MICROS: u32> ZeroInit for Fair<M, MICROS> {}

// SAFETY: a thread holds the lock when its exchange has set `HELD`, or when the holder has set its
// flag to `GRANTED` and left `HELD` set, which happens once for each time that the thread joins the
// ring. Only the holder clears `HELD`. The acquire of the exchange or of the wait pairs with the
// holder's release.
unsafe impl<M: Machine, const MICROS: u32> RawLock<M> for Fair<M, MICROS> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "fair",
        what: "mutex: any thread may take it while it is free, until the oldest waiter has been passed over for 500 us",
        source: "Baton; eventual fairness as in WebKit's ParkingLot and parking_lot",
        limits: "a lock that is handed over is idle until its waiter runs",
        fifo: false,
        try_lock: true,
        timed: true,
        hints: false,
        posix: Posix::No("it may be handed to a waiter that was cancelled"),
        general: true,
        waits: Waits::Any,
        counted: Counted { instructions: 10.0, accesses: 2 },
        c_number: 22,
    };

    fn new() -> Self {
        Fair(M::Atomic::new(FREE))
    }

    fn provide(memory: fn(core::alloc::Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        // Acquire: see the last holder's writes.
        if self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            let taken = self.contend(wait, None);
            debug_assert!(taken.is_some(), "a wait without a deadline expired");
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        // Release: the next holder sees this thread's writes.
        if self.0.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.release(false, wait);
        }
    }
}

// SAFETY: like `lock`; a failed try writes nothing.
unsafe impl<M: Machine, const MICROS: u32> TryLock<M> for Fair<M, MICROS> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.barge().then_some(())
    }
}

// SAFETY: like `lock`. A waiter that gives up leaves the ring, unless it has been handed the lock or
// finds it free. If it had been called, the lock is held again, and the unlock calls the next one.
unsafe impl<M: Machine, const MICROS: u32> TimedLock<M> for Fair<M, MICROS> {
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<()> {
        // Acquire: see the last holder's writes.
        self.0
            .compare_exchange(FREE, HELD, Acquire, Relaxed)
            .ok()
            .map(drop)
            .or_else(|| self.contend(wait, Some(deadline)))
    }
}

// SAFETY: the oldest waiter gets the lock while it is still held, so no other thread can take it.
unsafe impl<M: Machine, const MICROS: u32> HandOver<M> for Fair<M, MICROS> {
    #[inline]
    unsafe fn unlock_fair(&self, (): (), wait: Wait) {
        // Release: the next holder sees this thread's writes.
        if self.0.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.release(true, wait);
        }
    }
}
