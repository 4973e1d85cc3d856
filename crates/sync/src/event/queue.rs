//! An event with a queue of its waiters: each sleeps on a flag of its own, and a notification goes to the one that has
//! waited longest, and to no other.
//!
//! A small lock of the event's own, the guard, keeps the queue. No thread sleeps or calls into the kernel to wake others
//! while holding it.
//!
//! | node's flag | meaning | who changes it |
//! | --- | --- | --- |
//! | 1 `WAITING` | in the queue | the waiter, in `prepare` |
//! | 0 `NOTIFIED` | out of the queue; the event will not be touched again by this waiter | a notifier, under the guard |
//! | 2 `LEAVING` | in the queue, but no notification goes to it; its waiter is about to take it out | the waiter |

use super::{Ended, EventInfo, RawEvent};
use crate::lock::ttas::Ttas;
use crate::lock::{RawLock, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Counted, Deadline, Machine, Wait, WaitResult};
use core::ptr::NonNull;

const NOTIFIED: u32 = 0;
const WAITING: u32 = 1;
const LEAVING: u32 = 2;

/// Waiters that a broadcast notifies while it holds the guard, before it lets go of it to wake them.
const BATCH: usize = 16;

/// The event: 32 bytes on machines whose cells have the layout of their values. All but the guard is kept under it.
#[repr(C)]
pub struct QueueEvent<M: Machine> {
    guard: Ttas<M>,
    /// Moves with every waiter that left without a notification: `settle` waits on it.
    departures: M::Atomic<u32>,
    /// Waiters that ever came: a broadcast stops at those that came after it.
    arrivals: M::Atomic<u64>,
    first: M::Atomic<Ptr<Node<M>>>,
    last: M::Atomic<Ptr<Node<M>>>,
}

type Flag<M> = <M as Machine>::Atomic<u32>;

impl<M: Machine> QueueEvent<M> {
    /// Runs `f` with the queue to itself.
    fn guarded<R>(&self, wait: Wait, f: impl FnOnce() -> R) -> R {
        self.guard.lock(wait);
        let result = f();
        // SAFETY: locked above.
        unsafe { self.guard.unlock((), wait) };
        result
    }

    /// Puts the two neighbours of a node, null at the ends of the queue, side by side. Under the guard.
    ///
    /// # Safety
    /// Both are null or in the queue, and what stood between them is out of it or about to be.
    unsafe fn close(&self, front: Ptr<Node<M>>, behind: Ptr<Node<M>>) {
        // Relaxed, all: kept under the guard.
        match NonNull::new(front.0) {
            // SAFETY: a node in the queue is alive, as taking it out needs the guard.
            Some(front) => unsafe { front.as_ref() }.next.store(behind, Relaxed),
            None => self.first.store(behind, Relaxed),
        }
        match NonNull::new(behind.0) {
            // SAFETY: as above.
            Some(behind) => unsafe { behind.as_ref() }.prev.store(front, Relaxed),
            None => self.last.store(front, Relaxed),
        }
    }

    /// Notifies waiters that came before arrival `end`, oldest first, until `flags` is full; returns how many. Under
    /// the guard. The flags are addresses to wake by: their nodes may be gone.
    fn notify(&self, end: u64, flags: &mut [*const Flag<M>]) -> usize {
        let mut count = 0;
        // Relaxed, all but the flag: kept under the guard.
        let mut at = self.first.load(Relaxed);
        while let Some(node) = NonNull::new(at.0)
            && count < flags.len()
        {
            // SAFETY: a node in the queue is alive, as taking it out needs the guard; but see below.
            let node = unsafe { node.as_ref() };
            if node.ticket.load(Relaxed) >= end {
                break;
            }
            let (front, behind) = (node.prev.load(Relaxed), node.next.load(Relaxed));
            let flag: *const Flag<M> = &node.waiting;
            // From here on the node is its waiter's again and may be gone. Release: the waiter sees the notifier's
            // writes, and its node's next use comes after our reads of it. Relaxed on failure: it is leaving, and will
            // take itself out.
            if node.waiting.compare_exchange(WAITING, NOTIFIED, Release, Relaxed).is_ok() {
                // SAFETY: the neighbours are in the queue.
                unsafe { self.close(front, behind) };
                flags[count] = flag;
                count += 1;
            }
            at = behind;
        }
        count
    }

    /// Whether no thread waits, seen without the guard, so that a notification without a waiter costs little.
    fn idle(&self) -> bool {
        // SeqCst: either we see the waiter that prepared, or it sees, after its own fence in `prepare`, the condition
        // that was made true before this notification.
        M::fence(SeqCst);
        self.first.load(Relaxed).is_null()
    }
}

// SAFETY: a free guard, no arrivals, an empty queue.
unsafe impl<M: Machine> ZeroInit for QueueEvent<M> {}

// SAFETY: a waiter is in the queue from `prepare` until a notification or its own leaving takes it out. A notifier takes
// the oldest that is not leaving. The guard orders them; the fast way out of an empty queue is ordered by the fences.
unsafe impl<M: Machine> RawEvent<M> for QueueEvent<M> {
    type Waiter = NonNull<Node<M>>;
    const INFO: EventInfo = EventInfo {
        name: "queue",
        what: "a queue of waiters, each on a flag of its own; notify_one wakes the oldest",
        source: "Birrell, Implementing Condition Variables with Semaphores, 2003",
        limits: "in a forked child the parent's waiters stay in the queue",
        fifo: true,
        counted: Counted { instructions: 140.0, accesses: 23 },
    };

    fn new() -> Self {
        QueueEvent {
            guard: Ttas::new(),
            departures: M::Atomic::new(0),
            arrivals: M::Atomic::new(0),
            first: M::Atomic::new(Ptr::NULL),
            last: M::Atomic::new(Ptr::NULL),
        }
    }

    fn prepare(&self, wait: Wait) -> NonNull<Node<M>> {
        let waiter = nodes::take::<M>();
        // SAFETY: the node is ours, fresh from the free list.
        let node = unsafe { waiter.as_ref() };
        // Relaxed, all: the guard publishes the node.
        node.waiting.store(WAITING, Relaxed);
        node.next.store(Ptr::NULL, Relaxed);
        self.guarded(wait, || {
            let ticket = self.arrivals.load(Relaxed);
            self.arrivals.store(ticket.wrapping_add(1), Relaxed);
            node.ticket.store(ticket, Relaxed);
            let front = self.last.load(Relaxed);
            node.prev.store(front, Relaxed);
            match NonNull::new(front.0) {
                // SAFETY: a node in the queue is alive, as taking it out needs the guard.
                Some(front) => unsafe { front.as_ref() }.next.store(Ptr(waiter.as_ptr()), Relaxed),
                None => self.first.store(Ptr(waiter.as_ptr()), Relaxed),
            }
            self.last.store(Ptr(waiter.as_ptr()), Relaxed);
        });
        // SeqCst: pairs with the fence in `idle`.
        M::fence(SeqCst);
        waiter
    }

    unsafe fn sleep(&self, waiter: NonNull<Node<M>>, wait: Wait, deadline: Option<Deadline>) -> Ended {
        // SAFETY: the node is ours until `retire`. Only a notifier changes the flag now.
        match M::wait_while(unsafe { &waiter.as_ref().waiting }, WAITING, wait, deadline) {
            WaitResult::Changed(_) => Ended::Notified,
            WaitResult::Expired => Ended::Expired,
        }
    }

    unsafe fn retire(&self, waiter: NonNull<Node<M>>, wait: Wait) -> bool {
        // SAFETY: the node is ours.
        let node = unsafe { waiter.as_ref() };
        // Once notified, this is the last that we do with the event: nothing. Its memory may be gone.
        // Acquire on failure: see the notifier's writes, and use the node only after its reads. Relaxed on success: it
        // tells notifiers to keep off, and publishes nothing.
        let notified = node.waiting.compare_exchange(WAITING, LEAVING, Relaxed, Acquire).is_err();
        if !notified {
            let departures: *const M::Atomic<u32> = &self.departures;
            self.guarded(wait, || {
                // SAFETY: no thread but us takes a leaving node out, so that it is in the queue.
                unsafe { self.close(node.prev.load(Relaxed), node.next.load(Relaxed)) };
                // Relaxed, both: written under the guard; a thread that waits for it takes the guard afterwards.
                self.departures.store(self.departures.load(Relaxed).wrapping_add(1), Relaxed);
            });
            M::wake::<u32>(departures, u32::MAX, wait);
        }
        // SAFETY: the node is out of the queue; a notifier that may still wake us uses the flag's address only.
        unsafe { nodes::give(waiter) };
        notified
    }

    fn notify_one(&self, wait: Wait) {
        if self.idle() {
            return;
        }
        let mut flag = [core::ptr::null()];
        if self.guarded(wait, || self.notify(u64::MAX, &mut flag)) != 0 {
            M::wake::<u32>(flag[0], 1, wait);
        }
    }

    fn notify_all(&self, wait: Wait) {
        if self.idle() {
            return;
        }
        let mut flags = [core::ptr::null(); BATCH];
        let mut end = None;
        loop {
            let count = self.guarded(wait, || {
                let end = *end.get_or_insert_with(|| self.arrivals.load(Relaxed));
                self.notify(end, &mut flags)
            });
            for &flag in &flags[..count] {
                M::wake::<u32>(flag, 1, wait);
            }
            if count < BATCH {
                return;
            }
        }
    }

    fn settle(&self, wait: Wait) {
        loop {
            let (empty, departures) =
                self.guarded(wait, || (self.first.load(Relaxed).is_null(), self.departures.load(Relaxed)));
            if empty {
                return;
            }
            let _ = M::wait_while(&self.departures, departures, wait, None);
        }
    }
}
