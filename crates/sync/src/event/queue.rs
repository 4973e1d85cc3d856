//! An event with a queue of its waiters: each sleeps on its own flag, and a notification goes only
//! to the one that has waited longest.
//!
//! A small lock inside the event, the guard, protects the queue. While holding it, no thread sleeps
//! or calls the kernel to wake others.
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

/// Number of waiters that a broadcast notifies before it releases the guard to wake them.
const BATCH: usize = 16;

/// The event: 32 bytes on machines whose cells have the layout of their values. The guard protects
/// all other fields.
#[repr(C)]
pub struct QueueEvent<M: Machine> {
    guard: Ttas<M>,
    /// Incremented by every waiter that leaves without a notification; `settle` waits on it.
    departures: M::Atomic<u32>,
    /// Number of waiters that ever came: a broadcast stops at those that came after it began.
    arrivals: M::Atomic<u64>,
    first: M::Atomic<Ptr<Node<M>>>,
    last: M::Atomic<Ptr<Node<M>>>,
}

type Flag<M> = <M as Machine>::Atomic<u32>;

impl<M: Machine> QueueEvent<M> {
    /// Runs `f` while holding the guard.
    fn guarded<R>(&self, wait: Wait, f: impl FnOnce() -> R) -> R {
        self.guard.lock(wait);
        let result = f();
        // SAFETY: the guard was locked above.
        unsafe { self.guard.unlock((), wait) };
        result
    }

    /// Links the two neighbours of a node with each other; a null neighbour stands for the end of
    /// the queue. The caller holds the guard.
    ///
    /// # Safety
    /// Both are null or in the queue, and the node between them is out of it or about to be.
    unsafe fn close(&self, front: Ptr<Node<M>>, behind: Ptr<Node<M>>) {
        // Relaxed for all: the guard protects them.
        match NonNull::new(front.0) {
            // SAFETY: a node in the queue is alive, because removing it needs the guard.
            Some(front) => unsafe { front.as_ref() }.next.store(behind, Relaxed),
            None => self.first.store(behind, Relaxed),
        }
        match NonNull::new(behind.0) {
            // SAFETY: a node in the queue is alive, because removing it needs the guard.
            Some(behind) => unsafe { behind.as_ref() }.prev.store(front, Relaxed),
            None => self.last.store(front, Relaxed),
        }
    }

    /// Notifies waiters that came before arrival `end`, oldest first, until `flags` is full. Fills
    /// `flags` with addresses to wake by (their nodes may be gone) and returns their number. The
    /// caller holds the guard.
    fn notify(&self, end: u64, flags: &mut [*const Flag<M>]) -> usize {
        let mut count = 0;
        // Relaxed for all but the flag: the guard protects them.
        let mut at = self.first.load(Relaxed);
        while let Some(node) = NonNull::new(at.0)
            && count < flags.len()
        {
            // SAFETY: a node in the queue is alive, because removing it needs the guard, which this
            // thread holds; after the exchange below the node is not accessed.
            let node = unsafe { node.as_ref() };
            if node.ticket.load(Relaxed) >= end {
                break;
            }
            let (front, behind) = (node.prev.load(Relaxed), node.next.load(Relaxed));
            let flag: *const Flag<M> = &node.waiting;
            // After the exchange the node belongs to its waiter again and may be gone. Release: the
            // waiter sees the notifier's writes, and its next use of the node comes after this
            // thread's reads of it. Relaxed on failure: the waiter is leaving, and will remove
            // itself.
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

    /// Whether no thread waits, checked without the guard, so that a notification without a waiter
    /// costs little.
    fn idle(&self) -> bool {
        // SeqCst: either this thread sees the waiter that prepared, or the waiter sees, after its
        // own fence in `prepare`, the condition that was made true before this notification.
        M::fence(SeqCst);
        self.first.load(Relaxed).is_null()
    }
}

// SAFETY: all zeroes mean a free guard, no arrivals, an empty queue.
unsafe impl<M: Machine> ZeroInit for QueueEvent<M> {}

// SAFETY: a waiter is in the queue from `prepare` until a notification or its own leaving removes
// it. A notifier takes the oldest waiter that is not leaving. The guard orders them; the fences
// order the fast path for an empty queue.
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
        // SAFETY: the node belongs to this thread, fresh from the free list.
        let node = unsafe { waiter.as_ref() };
        // Relaxed for all: the guard publishes the node.
        node.waiting.store(WAITING, Relaxed);
        node.next.store(Ptr::NULL, Relaxed);
        self.guarded(wait, || {
            let ticket = self.arrivals.load(Relaxed);
            self.arrivals.store(ticket.wrapping_add(1), Relaxed);
            node.ticket.store(ticket, Relaxed);
            let front = self.last.load(Relaxed);
            node.prev.store(front, Relaxed);
            match NonNull::new(front.0) {
                // SAFETY: a node in the queue is alive, because removing it needs the guard.
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
        // SAFETY: the node belongs to this thread until `retire`. Only a notifier changes the flag
        // now.
        match M::wait_while(unsafe { &waiter.as_ref().waiting }, WAITING, wait, deadline) {
            WaitResult::Changed(_) => Ended::Notified,
            WaitResult::Expired => Ended::Expired,
        }
    }

    unsafe fn retire(&self, waiter: NonNull<Node<M>>, wait: Wait) -> bool {
        // SAFETY: the node belongs to this thread.
        let node = unsafe { waiter.as_ref() };
        // Once notified, this thread must not access the event, whose memory may be gone. Acquire
        // on failure: see the notifier's writes, and use the node only after the notifier's reads.
        // Relaxed on success: it tells notifiers to leave the node alone, and publishes nothing.
        let notified = node.waiting.compare_exchange(WAITING, LEAVING, Relaxed, Acquire).is_err();
        if !notified {
            let departures: *const M::Atomic<u32> = &self.departures;
            self.guarded(wait, || {
                // SAFETY: no other thread removes a leaving node, so it is still in the queue.
                unsafe { self.close(node.prev.load(Relaxed), node.next.load(Relaxed)) };
                // Relaxed for both: the count is written under the guard, and `settle`, which waits
                // for it to change, takes the guard afterwards.
                self.departures.store(self.departures.load(Relaxed).wrapping_add(1), Relaxed);
            });
            M::wake::<u32>(departures, u32::MAX, wait);
        }
        // SAFETY: the node is out of the queue; a notifier that may still wake this thread uses
        // only the flag's address.
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
