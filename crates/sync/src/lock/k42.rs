//! The MCS variant of IBM's K42 kernel: a queue lock without a node to pass from lock to unlock.
//!
//! A waiter needs a node only while it waits. Once it holds the lock, it moves the node's content,
//! the link to the thread behind, into the lock itself.
//!
//! | `tail` | `next` | meaning |
//! | --- | --- | --- |
//! | null | null | free |
//! | `HELD` | null | held, no thread waits |
//! | a node | null | held, the first waiter has not linked itself yet |
//! | a node | a node | held; `next` is the first waiter, `tail` the last |
//!
//! `next` belongs to the holder, except for the one store by which the first waiter behind `HELD`
//! links itself.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;

/// A K42 lock: both ends of the queue of waiters.
#[repr(C)]
pub struct K42<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
    next: M::Atomic<Ptr<Node<M>>>,
}

impl<M: Machine> K42<M> {
    /// The tail of a held lock without waiters: an address that no node has.
    const HELD: Ptr<Node<M>> = Ptr(core::ptr::without_provenance_mut(1));

    #[cold]
    fn contend(&self, wait: Wait) {
        let node_at = nodes::take::<M>();
        // SAFETY: the node belongs to this thread until it is given back below.
        let node = unsafe { node_at.as_ref() };
        let me = Ptr(node_at.as_ptr());
        // Relaxed for both: the exchange that puts the node into the queue publishes them.
        node.next.store(Ptr::NULL, Relaxed);
        node.waiting.store(1, Relaxed);
        // Relaxed: only a guess for the exchange, which reads again.
        let mut tail = self.tail.load(Relaxed);
        loop {
            let (new, queued) = if tail.is_null() { (Self::HELD, false) } else { (me, true) };
            // Release: a thread that finds this node finds it initialised. Acquire: if the lock was
            // free, see the last holder's writes; if it was held, see that `next` (the lock's, or
            // that of the node in front) was set to null before this thread links itself there.
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
            // SAFETY: the owner of the node in front cannot give it back before this thread has
            // linked itself behind it.
            unsafe { &(*tail.0).next }
        };
        let link_at = core::ptr::from_ref(link);
        // Release: a thread that follows the link finds the node initialised.
        link.store(me, Release);
        // The thread in front may wait for the link.
        M::wake::<Ptr<Node<M>>>(link_at, 1, wait);
        // The wait's acquire: see the last holder's writes.
        let _ = M::wait_while(&node.waiting, 1, wait, None);
        self.inherit(node, me, wait);
        // SAFETY: the queue no longer refers to the node: the lock now knows the thread behind, and
        // that thread has stored its link, its last access to this node.
        unsafe { nodes::give(node_at) };
    }

    /// Moves the link of the new holder's node into the lock.
    fn inherit(&self, node: &Node<M>, me: Ptr<Node<M>>, wait: Wait) {
        // Acquire: the node that the lock's `next` will name is initialised for its readers.
        let mut behind = node.next.load(Acquire);
        if behind.is_null() {
            // Relaxed: the exchange below publishes it to the one waiter that will link itself
            // here.
            self.next.store(Ptr::NULL, Relaxed);
            // Release: `next` is null before a waiter stores its link into it. (The next holder
            // sees this thread's data by the unlock.) Relaxed on failure: it says only that another
            // thread came.
            if self.tail.compare_exchange(me, Self::HELD, Release, Relaxed).is_ok() {
                return;
            }
            behind = nodes::linked::<M>(&node.next, wait);
        }
        // Relaxed: only the holder reads it, which is this thread; no thread links itself here
        // while a node is the tail.
        self.next.store(behind, Relaxed);
    }
}

// SAFETY: the lock is two pointers, free when null.
unsafe impl<M: Machine> ZeroInit for K42<M> {}

/// Threads arrive in the order of their exchanges on the tail.
impl<M: Machine> Fifo for K42<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters when its exchange found the tail null, which only a holder without
// waiters stores on leaving, or when the holder in front cleared its flag, once, on leaving. Both
// are Release stores read with Acquire.
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
        // Acquire: if the first waiter linked itself, see its node initialised.
        let mut behind = self.next.load(Acquire);
        if behind.is_null() {
            // Release: the next holder sees this thread's writes, and `next` null. Relaxed on
            // failure: another thread came.
            if self.tail.compare_exchange(Self::HELD, Ptr::NULL, Release, Relaxed).is_ok() {
                return;
            }
            behind = nodes::linked::<M>(&self.next, wait);
        }
        // SAFETY: the thread behind waits, so its node is alive until the store below; afterwards
        // only its address is used.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*behind.0).waiting };
        // SAFETY: the thread behind waits for this store, so the node with the flag is alive.
        // Release: the next holder sees this thread's writes.
        unsafe { (*flag).store(0, Release) };
        M::wake::<u32>(flag, 1, wait);
    }
}

// SAFETY: like `lock`, entering only if the tail is null.
unsafe impl<M: Machine> TryLock<M> for K42<M> {
    #[inline]
    fn try_lock(&self) -> Option<()> {
        // Acquire: see the last holder's writes (and `next` null). Relaxed on failure: nothing is
        // read through it. Release is not needed: a waiter that finds HELD links itself into
        // `next`, which the last holder set to null. That holder's release reaches the waiter
        // through the release sequence that this exchange continues.
        self.tail.compare_exchange(Ptr::NULL, Self::HELD, Acquire, Relaxed).ok().map(drop)
    }
}
