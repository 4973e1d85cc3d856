//! The MCS variant of IBM's K42 kernel: a queue lock without a node to pass from lock to unlock.
//!
//! A waiter needs a node only while it waits. Once it holds the lock, it moves what its node knew, who comes behind,
//! into the lock itself.
//!
//! | `tail` | `next` | meaning |
//! | --- | --- | --- |
//! | null | null | free |
//! | `HELD` | null | held, no thread waits |
//! | a node | null | held, the first waiter has not linked itself yet |
//! | a node | a node | held; `next` waits first, `tail` last |
//!
//! `next` belongs to the holder, but for the one store by which the first waiter behind `HELD` links itself.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;

/// The lock: both ends of the queue of waiters.
#[repr(C)]
pub struct K42<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
    next: M::Atomic<Ptr<Node<M>>>,
}

impl<M: Machine> K42<M> {
    /// The tail of a lock that is held with no waiter: an address that no node has.
    const HELD: Ptr<Node<M>> = Ptr(core::ptr::without_provenance_mut(1));

    #[cold]
    fn contend(&self, wait: Wait) {
        let node_at = nodes::take::<M>();
        // SAFETY: the node is ours until we give it back below.
        let node = unsafe { node_at.as_ref() };
        let me = Ptr(node_at.as_ptr());
        // Relaxed, both: the exchange that puts the node into the queue publishes them.
        node.next.store(Ptr::NULL, Relaxed);
        node.waiting.store(1, Relaxed);
        // Relaxed: only a guess at what to exchange; the exchange reads again.
        let mut tail = self.tail.load(Relaxed);
        loop {
            let (new, queued) = if tail.is_null() { (Self::HELD, false) } else { (me, true) };
            // Release: a thread that finds our node finds it ready. Acquire: free, see the last holder's writes; held, see that
            // `next`, the lock's or the node's in front, was set to null before we link ourselves there.
            match self.tail.compare_exchange_weak(tail, new, AcqRel, Relaxed) {
                Ok(_) if queued => break,
                Ok(_) => {
                    // SAFETY: the node was never published.
                    unsafe { nodes::give(node_at) };
                    return;
                }
                Err(now) => tail = now,
            }
        }
        let link: &M::Atomic<Ptr<Node<M>>> = if tail == Self::HELD {
            &self.next
        } else {
            // SAFETY: the owner of the node in front cannot give it back before we have linked ourselves behind it.
            unsafe { &(*tail.0).next }
        };
        let link_at = core::ptr::from_ref(link);
        // Release: a thread that follows the link finds the node ready.
        link.store(me, Release);
        // The one in front may wait for the link.
        M::wake::<Ptr<Node<M>>>(link_at, 1, wait);
        // The wait's acquire: see the last holder's writes.
        let _ = M::wait_while(&node.waiting, 1, wait, None);
        self.inherit(node, me, wait);
        // SAFETY: the queue refers to the node no more: the one behind is now known to the lock, and it has stored its
        // link, the last that it does to our node.
        unsafe { nodes::give(node_at) };
    }

    /// Moves what the new holder's node knows into the lock.
    fn inherit(&self, node: &Node<M>, me: Ptr<Node<M>>, wait: Wait) {
        // Acquire: hand on a node that is ready to be read through the lock's `next`.
        let mut behind = node.next.load(Acquire);
        if behind.is_null() {
            // Relaxed: published by the exchange below to the one waiter that will link itself here.
            self.next.store(Ptr::NULL, Relaxed);
            // Release: `next` is null before a waiter stores its link into it. (The next holder's view of our data
            // comes from our unlock.) Relaxed on failure: we learn only that a thread came.
            if self.tail.compare_exchange(me, Self::HELD, Release, Relaxed).is_ok() {
                return;
            }
            behind = nodes::linked::<M>(&node.next, wait);
        }
        // Relaxed: only the holder reads it, and we are the holder; no thread links here while a node is the tail.
        self.next.store(behind, Relaxed);
    }
}

// SAFETY: two null pointers, free when null.
unsafe impl<M: Machine> ZeroInit for K42<M> {}

/// In the order of the exchanges on the tail.
impl<M: Machine> Fifo for K42<M> {
    fn is_free(&self) -> bool {
        // Acquire: a free lock's last holder has left it.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters when its exchange found the tail null, which only a holder without waiters stores on leaving,
// or when its flag was cleared by the holder in front, once, on leaving. Both are Release stores read with Acquire.
unsafe impl<M: Machine> RawLock<M> for K42<M> {
    type Token = ();
    const INFO: LockInfo = LockInfo {
        name: "k42",
        what: "MCS without a node to pass: the holder keeps its place in the lock itself",
        source: "K42 (Auslander, Edelsohn, Krieger et al.); Scott, Shared-Memory Synchronization, section 4.3",
        limits: "a preempted waiter holds up those behind it; entering the queue is a loop of exchanges",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 13.0, accesses: 3 },
        c_number: 6,
    };

    fn new() -> Self {
        K42 { tail: M::Atomic::new(Ptr::NULL), next: M::Atomic::new(Ptr::NULL) }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) {
        if self.try_lock().is_none() {
            self.contend(wait);
        }
    }

    #[inline]
    unsafe fn unlock(&self, (): (), wait: Wait) {
        // Acquire: if the first waiter linked itself, see its node ready.
        let mut behind = self.next.load(Acquire);
        if behind.is_null() {
            // Release: the next holder sees our writes, and `next` null. Relaxed on failure: a thread came.
            if self.tail.compare_exchange(Self::HELD, Ptr::NULL, Release, Relaxed).is_ok() {
                return;
            }
            behind = nodes::linked::<M>(&self.next, wait);
        }
        // SAFETY: the one behind waits, so its node is alive until the store below; then only its address is used.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*behind.0).waiting };
        // SAFETY: as above. Release: the next holder sees our writes.
        unsafe { (*flag).store(0, Release) };
        M::wake::<u32>(flag, 1, wait);
    }
}

// SAFETY: as `lock`, entering only where the tail is null.
unsafe impl<M: Machine> TryLock<M> for K42<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        // Acquire: see the last holder's writes (and `next` null). Relaxed on failure: nothing is read through it.
        // Not Release: a waiter that finds HELD links into `next`, whose null is the last holder's, and whose
        // release it reads through the release sequence that our exchange continues.
        self.tail.compare_exchange(Ptr::NULL, Self::HELD, Acquire, Relaxed).ok().map(drop)
    }
}
