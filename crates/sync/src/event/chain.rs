//! An event of one word: the last node of a ring of waiters, and two bits.
//!
//! A broadcast takes all waiters out of the ring at once and chains them, but wakes only the first.
//! Each waiter wakes the next one of the chain: in [`retire`](RawEvent::retire), or, for a condition
//! variable, when it has its mutex again ([`Chain::leave`], [`Chain::wake_next`]). So the waiters of
//! a broadcast do not wake up together, to find the mutex taken and sleep again.
//!
//! | word | meaning |
//! | --- | --- |
//! | bit 0 `GUARD` | a thread changes the ring |
//! | bit 1 `CROWD` | a thread waits for the guard, or for the ring to become empty |
//! | other bits | the node of the waiter that came last; its `next` is the one that came first |
//!
//! | node's flag | meaning | who changes it |
//! | --- | --- | --- |
//! | 1 `WAITING` | in the ring | the waiter, in `join` |
//! | 2 `LEAVING` | in the ring, but no notification goes to it; its waiter is about to take it out | the waiter |
//! | 3 `CALLED` | in a chain | a notifier, under the guard |
//! | 0 `NOTIFIED` | belongs to its waiter; its `next` is the rest of the chain | a notifier, or the waiter in front in the chain |

use super::{Ended, EventInfo, RawEvent};
use crate::lock::ZeroInit;
use crate::nodes::{self, Node};
use crate::ring::{self, Link};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Counted, Deadline, Machine, Wait, WaitResult};
use core::ptr::NonNull;

const GUARD: usize = 1;
const CROWD: usize = 2;
const BITS: usize = GUARD | CROWD;

const NOTIFIED: u32 = 0;
const WAITING: u32 = 1;
const LEAVING: u32 = 2;
const CALLED: u32 = 3;

/// The event's word.
#[repr(transparent)]
pub struct Chain<M: Machine>(M::Atomic<usize>);

impl Chain<baton_machine::Native> {
    /// Creates an event without waiters, in a constant.
    pub const fn empty() -> Self {
        Chain(baton_machine::native::cell::NativeAtomic::new(0))
    }
}

/// The waiters of a broadcast that a waiter must still wake ([`Chain::wake_next`]).
#[must_use = "the other waiters of a broadcast would sleep for ever"]
pub struct Rest<M: Machine>(Link<M>);

impl<M: Machine> Chain<M> {
    /// Waits for the guard and takes it. Returns the last node of the ring.
    fn take_guard(&self, wait: Wait) -> Link<M> {
        // Relaxed: only a guess at the state; the exchange acquires.
        let mut state = self.0.load(Relaxed);
        loop {
            if state & GUARD == 0 {
                // Acquire: see how earlier holders of the guard left the ring.
                match self.0.compare_exchange(state, state | GUARD, Acquire, Relaxed) {
                    Ok(_) => return Ptr(core::ptr::with_exposed_provenance_mut(state & !BITS)),
                    Err(now) => state = now,
                }
            } else {
                state = self.wait_in_crowd(state, wait);
            }
        }
    }

    /// Waits until the word is no longer `state`, and says so to the next thread that gives the
    /// guard back. Returns the word.
    #[cold]
    fn wait_in_crowd(&self, state: usize, wait: Wait) -> usize {
        // Relaxed: only tells the thread that gives the guard back, whose exchange finds the bit or
        // makes this one fail.
        if state & CROWD == 0
            && let Err(now) = self.0.compare_exchange(state, state | CROWD, Relaxed, Relaxed)
        {
            return now;
        }
        match M::wait_while(&self.0, state | CROWD, wait, None) {
            WaitResult::Changed(now) => now,
            WaitResult::Expired => unreachable!("no deadline was given"),
        }
    }

    /// Gives the guard back, with `last` as the last node of the ring. Touches only the word's
    /// address afterwards.
    fn give_guard(&self, last: Link<M>, wait: Wait) {
        let word: *const M::Atomic<usize> = &self.0;
        // Release: the next holder of the guard sees the ring.
        if self.0.swap(last.0.expose_provenance(), Release) & CROWD != 0 {
            M::wake::<usize>(word, u32::MAX, wait);
        }
    }

    /// Puts `node` into the ring, as the waiter that came last.
    ///
    /// # Safety
    /// The node lives, and no other thread uses it, until [`leave`](Chain::leave).
    pub unsafe fn join(&self, node: &Node<M>, wait: Wait) {
        let last = self.take_guard(wait);
        // Relaxed: the guard publishes the node.
        node.waiting.store(WAITING, Relaxed);
        // SAFETY: this thread has the guard, and the node lives until it leaves.
        let last = unsafe { ring::add(last, node) };
        self.give_guard(last, wait);
        // SeqCst: pairs with the fence in `notify`.
        M::fence(SeqCst);
    }

    /// Sleeps until notified, or until the deadline.
    ///
    /// # Safety
    /// The calling thread has put `node` into this event by [`join`](Chain::join).
    pub unsafe fn sleep_at(node: &Node<M>, wait: Wait, deadline: Option<Deadline>) -> Ended {
        match M::wait_while(&node.waiting, WAITING, wait, deadline) {
            WaitResult::Changed(_) => Ended::Notified,
            WaitResult::Expired => Ended::Expired,
        }
    }

    /// Leaves the event. Returns whether a notification came, and the waiters that the calling
    /// thread must then wake.
    ///
    /// # Safety
    /// The calling thread has put `node` into this event by [`join`](Chain::join), and leaves once.
    pub unsafe fn leave(&self, node: &Node<M>, wait: Wait) -> (bool, Rest<M>) {
        // Relaxed on success: it tells notifiers to leave the node alone, and publishes nothing.
        // Acquire on failure: see the notifier's writes.
        match node.waiting.compare_exchange(WAITING, LEAVING, Relaxed, Acquire) {
            Ok(_) => {
                let last = self.take_guard(wait);
                // SAFETY: this thread has the guard, and no other thread removes a leaving node.
                let last = unsafe { ring::remove(last, node) };
                self.give_guard(last, wait);
                return (false, Rest(Ptr::NULL));
            }
            Err(NOTIFIED) => {}
            // The node is in a chain, and the waiter in front will wake this one.
            Err(_) => _ = M::wait_while(&node.waiting, CALLED, wait, None),
        }
        // Relaxed: the flag was read with acquire after the link was stored. The event is not
        // accessed from here on: its memory may be gone.
        (true, Rest(node.next.load(Relaxed)))
    }

    /// Wakes the next waiter of a broadcast.
    pub fn wake_next(rest: Rest<M>, wait: Wait) {
        if let Some(node) = NonNull::new(rest.0.0) {
            // SAFETY: a node in a chain is alive until it is notified.
            let flag: *const M::Atomic<u32> = unsafe { &node.as_ref().waiting };
            // SAFETY: as above. Release: the waiter sees what came before the notification, and the
            // rest of the chain.
            unsafe { &*flag }.store(NOTIFIED, Release);
            M::wake::<u32>(flag, 1, wait);
        }
    }

    /// Notifies up to `most` waiters, oldest first. Begins with a SeqCst fence.
    #[inline]
    pub fn notify(&self, most: usize, wait: Wait) {
        // SeqCst, and below: see `is_idle`.
        M::fence(SeqCst);
        if !self.is_idle() {
            self.notify_waiters(most, wait);
        }
    }

    /// [`notify`](Chain::notify) after a condition that was made true by an atomic read-modify-write.
    #[inline]
    pub fn notify_after_exchange(&self, most: usize, wait: Wait) {
        M::fence_after_exchange();
        if !self.is_idle() {
            self.notify_waiters(most, wait);
        }
    }

    #[cold]
    fn notify_waiters(&self, most: usize, wait: Wait) {
        Self::wake_next(self.call(most, wait), wait);
    }

    /// Whether no thread waits, so that a notification has nothing to do. After a SeqCst fence: either this
    /// thread sees the waiter that prepared, or the waiter sees, after its own fence in `join`, the condition
    /// that was made true before this notification.
    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.0.load(Relaxed) & !BITS == 0
    }

    /// Takes up to `most` waiters out of the ring, oldest first, and chains them.
    fn call(&self, most: usize, wait: Wait) -> Rest<M> {
        let mut last = self.take_guard(wait);
        let (mut first, mut end) = (Ptr::NULL, None::<&Node<M>>);
        let mut count = 0;
        // Relaxed for all but the exchange: the guard protects the ring, and the store of NOTIFIED
        // publishes the chain.
        // SAFETY: this thread has the guard.
        let mut at = unsafe { ring::first(last) }.map_or(Ptr::NULL, |first| Ptr(first.as_ptr()));
        let stop = last;
        while !at.is_null() && count < most {
            // SAFETY: the node is in the ring, and a node that is called lives until it is notified.
            let node = unsafe { &*at.0 };
            let behind = node.next.load(Relaxed);
            let was_last = at == stop;
            // Relaxed for both: the flag only keeps the waiter from leaving, or says that it
            // leaves.
            if node.waiting.compare_exchange(WAITING, CALLED, Relaxed, Relaxed).is_ok() {
                // SAFETY: this thread has the guard, and the node is in the ring.
                last = unsafe { ring::remove(last, node) };
                node.next.store(Ptr::NULL, Relaxed);
                match end {
                    Some(end) => end.next.store(at, Relaxed),
                    None => first = at,
                }
                end = Some(node);
                count += 1;
            }
            if was_last {
                break;
            }
            at = behind;
        }
        self.give_guard(last, wait);
        Rest(first)
    }
}

// SAFETY: zero is a word without a node and without bits.
unsafe impl<M: Machine> ZeroInit for Chain<M> {}

// SAFETY: a waiter is in the ring from `join` until it is called or leaves. A notification calls
// the oldest waiters that are not leaving; the first of a chain is notified by the notifier, each
// other one by the waiter in front, which retires. The guard orders the ring; the fences order the
// fast path for an empty ring.
unsafe impl<M: Machine> RawEvent<M> for Chain<M> {
    type Waiter = NonNull<Node<M>>;
    const INFO: EventInfo = EventInfo {
        name: "chain",
        what: "one word, a ring of waiters; notify_one wakes the oldest, and after a broadcast each waiter wakes the next",
        source: "Baton; wait morphing as in Birrell, Implementing Condition Variables with Semaphores, 2003",
        limits: "a waiter that does not run holds up those behind it in its broadcast",
        fifo: true,
        counted: Counted { instructions: 184.0, accesses: 22 },
    };

    fn new() -> Self {
        Chain(M::Atomic::new(0))
    }

    fn prepare(&self, wait: Wait) -> NonNull<Node<M>> {
        let waiter = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from the free list, until `retire`.
        unsafe { self.join(waiter.as_ref(), wait) };
        waiter
    }

    unsafe fn sleep(&self, waiter: NonNull<Node<M>>, wait: Wait, deadline: Option<Deadline>) -> Ended {
        // SAFETY: the caller prepared the waiter, whose node lives until `retire`.
        unsafe { Self::sleep_at(waiter.as_ref(), wait, deadline) }
    }

    unsafe fn retire(&self, waiter: NonNull<Node<M>>, wait: Wait) -> bool {
        // SAFETY: the caller prepared the waiter, and retires it once.
        let (notified, rest) = unsafe { self.leave(waiter.as_ref(), wait) };
        // SAFETY: the node is out of the ring and of the chain; a thread that may still wake this
        // one uses only the flag's address.
        unsafe { nodes::give(waiter) };
        Self::wake_next(rest, wait);
        notified
    }

    #[inline]
    fn notify_one(&self, wait: Wait) {
        self.notify(1, wait);
    }

    fn notify_all(&self, wait: Wait) {
        self.notify(usize::MAX, wait);
    }

    fn settle(&self, wait: Wait) {
        loop {
            // Acquire: the waiters' accesses to the event come before its memory is freed.
            let state = self.0.load(Acquire);
            if state == 0 {
                return;
            }
            self.wait_in_crowd(state, wait);
        }
    }
}
