//! CLH queue lock: each waiter waits on the node of the thread in front, and owns that node
//! afterwards.
//!
//! The classic lock starts with a dummy node in the tail. Here a null tail means a free lock, so
//! that zeroed memory is a free lock: the last holder replaces its node by null, and keeps it.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// A CLH lock: the last node of the queue, null when free.
#[repr(transparent)]
pub struct Clh<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

// SAFETY: the lock is one pointer, free when null.
unsafe impl<M: Machine> ZeroInit for Clh<M> {}

/// Threads arrive in the order of their swaps on the tail.
impl<M: Machine> Fifo for Clh<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters if it found no node in front, or when the thread in front has cleared its
// node's flag, which happens once, on leaving. Node flags and the tail are stored with Release and
// read with Acquire.
unsafe impl<M: Machine> RawLock<M> for Clh<M> {
    type Token = NonNull<Node<M>>;
    const INFO: LockInfo = LockInfo {
        name: "clh",
        what: "queue lock: each waiter waits on the flag of the one in front",
        source: "Craig, UW TR 93-02-02; Magnusson, Landin and Hagersten, IPPS 1994",
        limits: "a preempted waiter holds up those behind it; nodes wander between threads (and NUMA nodes)",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 26.1, accesses: 3 },
        c_number: 5,
    };

    fn new() -> Self {
        Clh { tail: M::Atomic::new(Ptr::NULL) }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) -> NonNull<Node<M>> {
        let node = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from the free list. Relaxed: the swap
        // publishes it.
        unsafe { node.as_ref() }.waiting.store(1, Relaxed);
        // Release: a thread that finds this node finds its flag set. Acquire: likewise for the node
        // in front, whose flag might otherwise still look clear; with none in front, see the last
        // holder's writes.
        let front = self.tail.swap(Ptr(node.as_ptr()), AcqRel);
        if let Some(front) = NonNull::new(front.0) {
            // SAFETY: the owner gives up the node in front only to this thread. The wait's acquire:
            // see the last holder's writes.
            let _ = M::wait_while(unsafe { &front.as_ref().waiting }, 1, wait, None);
            // SAFETY: the node's owner has left it and no third thread ever knew it, so it belongs
            // to this thread; a wake-up that may still come uses only its address.
            unsafe { nodes::give(front) };
        }
        node
    }

    #[inline]
    unsafe fn unlock(&self, node: NonNull<Node<M>>, wait: Wait) {
        // Release: the next holder sees this thread's writes. Relaxed on failure: it says only that
        // another thread came.
        if self.tail.compare_exchange(Ptr(node.as_ptr()), Ptr::NULL, Release, Relaxed).is_ok() {
            // SAFETY: no thread came behind, so no other thread knows the node.
            unsafe { nodes::give(node) };
            return;
        }
        // SAFETY: the node belongs to this thread until the store below gives it to the thread
        // behind.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*node.as_ptr()).waiting };
        // SAFETY: the node with the flag belongs to this thread until this store. Release: the next
        // holder sees this thread's writes.
        unsafe { (*flag).store(0, Release) };
        M::wake::<u32>(flag, 1, wait);
    }
}

// SAFETY: like `lock`, entering only if no node is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for Clh<M> {
    #[inline]
    fn try_lock(&self) -> Option<NonNull<Node<M>>> {
        let node = nodes::take::<M>();
        // SAFETY: the node belongs to this thread. Relaxed: the exchange publishes it.
        unsafe { node.as_ref() }.waiting.store(1, Relaxed);
        // AcqRel for the reasons in `lock`. Relaxed on failure: nothing is read through it.
        match self.tail.compare_exchange(Ptr::NULL, Ptr(node.as_ptr()), AcqRel, Relaxed) {
            Ok(_) => Some(node),
            Err(_) => {
                // SAFETY: the node was never published.
                unsafe { nodes::give(node) };
                None
            }
        }
    }
}
