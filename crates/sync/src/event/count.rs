//! Event count: a number that a notification increments if threads wait. A waiter remembers the
//! number and sleeps until it changes.

use super::{Ended, EventInfo, RawEvent};
use crate::lock::ZeroInit;
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Counted, Deadline, Machine, Wait, WaitResult};

/// An event count: the number of notifications for which a thread waited (64 bits, which do not
/// wrap in a machine's life), and the number of waiters between `prepare` and `retire`.
#[repr(C)]
pub struct EventCount<M: Machine> {
    count: M::Atomic<u64>,
    waiters: M::Atomic<u32>,
}

// SAFETY: all zeroes mean no notifications and no waiters.
unsafe impl<M: Machine> ZeroInit for EventCount<M> {}

// SAFETY: a notification that finds a waiter increments the count, so that every waiter that
// prepared before wakes. The fences order the fast path without waiters.
unsafe impl<M: Machine> RawEvent<M> for EventCount<M> {
    type Waiter = u64;
    const INFO: EventInfo = EventInfo {
        name: "count",
        what: "event count: a notification moves a number that waiters watch",
        source: "Reed and Kanodia, CACM 1979",
        limits: "notify_one wakes all (the others look at their condition and wait again)",
        fifo: false,
        counted: Counted { instructions: 19.0, accesses: 7 },
    };

    fn new() -> Self {
        EventCount { count: M::Atomic::new(0), waiters: M::Atomic::new(0) }
    }

    fn prepare(&self, _: Wait) -> u64 {
        // Relaxed: the fence orders it.
        self.waiters.fetch_add(1, Relaxed);
        // SeqCst: pairs with the fence in `notify_all`. Either the notifier sees this waiter and
        // increments the count after this thread has read it, or this thread sees the condition
        // that the notifier made true.
        M::fence(SeqCst);
        // Acquire: an earlier notification that the number includes will not come again, so its
        // writes must be visible.
        self.count.load(Acquire)
    }

    unsafe fn sleep(&self, waiter: u64, wait: Wait, deadline: Option<Deadline>) -> Ended {
        match M::wait_while(&self.count, waiter, wait, deadline) {
            WaitResult::Changed(_) => Ended::Notified,
            WaitResult::Expired => Ended::Expired,
        }
    }

    unsafe fn retire(&self, waiter: u64, wait: Wait) -> bool {
        // Acquire: see the notifier's writes.
        let notified = self.count.load(Acquire) != waiter;
        let waiters: *const M::Atomic<u32> = &self.waiters;
        // Release: all accesses of this thread to the event come before `settle` returns. This is
        // the last one.
        self.waiters.fetch_add(u32::MAX, Release);
        M::wake::<u32>(waiters, u32::MAX, wait);
        notified
    }

    fn notify_one(&self, wait: Wait) {
        // A single sleeper cannot be woken: a newcomer that has read the new count may sleep on the
        // same cell, and would take the wake-up of an older one.
        self.notify_all(wait);
    }

    fn notify_all(&self, wait: Wait) {
        // SeqCst: pairs with the fence in `prepare`.
        M::fence(SeqCst);
        // Relaxed: the fence orders it.
        if self.waiters.load(Relaxed) == 0 {
            return;
        }
        let count: *const M::Atomic<u64> = &self.count;
        // Relaxed. C11: the SeqCst fence above acts as a release fence before this increment, so a
        // thread that reads the new count with acquire sees all that came before the fence (C11
        // 7.17.4p2): this thread's writes.
        self.count.fetch_add(1, Relaxed);
        M::wake::<u64>(count, u32::MAX, wait);
    }

    fn settle(&self, wait: Wait) {
        loop {
            // Acquire: the waiters' accesses to the event come before its memory is freed.
            let waiters = self.waiters.load(Acquire);
            if waiters == 0 {
                return;
            }
            let _ = M::wait_while(&self.waiters, waiters, wait, None);
        }
    }
}
