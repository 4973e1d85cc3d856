//! Event count: a number that every notification moves. A waiter remembers it and sleeps until it has moved.

use super::{Ended, EventInfo, RawEvent};
use crate::lock::ZeroInit;
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Counted, Deadline, Machine, Wait, WaitResult};

/// The event: how many notifications there were (64 bits, which do not wrap in a machine's life), and how many waiters
/// are between `prepare` and `retire`.
#[repr(C)]
pub struct EventCount<M: Machine> {
    count: M::Atomic<u64>,
    waiters: M::Atomic<u32>,
}

// SAFETY: no notifications, no waiters.
unsafe impl<M: Machine> ZeroInit for EventCount<M> {}

// SAFETY: a notification moves the count, so that every waiter that prepared before it wakes.
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
        // SeqCst: pairs with the fence in `notify_all`. Either the notifier sees us as a waiter and moves the count
        // after we have read it, or we see the condition that it made true.
        M::fence(SeqCst);
        // Acquire: an earlier notification that is part of the number need not come again, so see what it told.
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
        // Release: all that we did with the event comes before `settle` returns. The last that we do with it.
        self.waiters.fetch_add(u32::MAX, Release);
        M::wake::<u32>(waiters, u32::MAX, wait);
        notified
    }

    fn notify_one(&self, wait: Wait) {
        // One of the sleepers cannot be woken alone: a newcomer that has read the moved count may sleep on the same
        // cell, and would take the wake-up of an older one.
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
        // Relaxed. C11: the SeqCst fence above is a release fence that comes before this, so that the thread that reads the moved
        // count with acquire sees all that came before the fence (C11 7.17.4p2): our writes.
        self.count.fetch_add(1, Relaxed);
        M::wake::<u64>(count, u32::MAX, wait);
    }

    fn settle(&self, wait: Wait) {
        loop {
            // Acquire: what the waiters did with the event comes before its memory is freed.
            let waiters = self.waiters.load(Acquire);
            if waiters == 0 {
                return;
            }
            let _ = M::wait_while(&self.waiters, waiters, wait, None);
        }
    }
}
