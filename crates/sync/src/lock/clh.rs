//! CLH queue lock: each waiter waits on the node of the one in front, which becomes its own afterwards.
//!
//! The classic lock starts with a dummy node in the tail. Here a null tail is a free lock, so that zeroed memory is
//! one: the last holder takes its node back by putting null in its place.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The lock: the last node of the queue, null when free.
#[repr(transparent)]
pub struct Clh<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

// SAFETY: one null pointer, free when null.
unsafe impl<M: Machine> ZeroInit for Clh<M> {}

/// In the order of the swaps on the tail.
impl<M: Machine> Fifo for Clh<M> {
    fn is_free(&self) -> bool {
        // Acquire: a free lock's last holder has left it.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters when it found no node in front or the one in front has cleared its node's flag, which it
// does once, on leaving. Node flags and the tail are stored with Release and read with Acquire.
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
        // SAFETY: the node is ours, fresh from the free list. Relaxed: the swap publishes it.
        unsafe { node.as_ref() }.waiting.store(1, Relaxed);
        // Release: a thread that finds our node finds its flag set. Acquire: the same of the node in front, whose flag may
        // still look clear otherwise; with none in front, see the last holder's writes.
        let front = self.tail.swap(Ptr(node.as_ptr()), AcqRel);
        if let Some(front) = NonNull::new(front.0) {
            // SAFETY: the node in front is given up only to the thread behind it: us. The wait's acquire: see the
            // last holder's writes.
            let _ = M::wait_while(unsafe { &front.as_ref().waiting }, 1, wait, None);
            // SAFETY: its owner has left it and no other thread ever knew it, so that it is ours; the wake that may
            // still come uses its address only.
            unsafe { nodes::give(front) };
        }
        node
    }

    #[inline]
    unsafe fn unlock(&self, node: NonNull<Node<M>>, wait: Wait) {
        // Release: the next holder sees our writes. Relaxed on failure: we learn only that a thread came.
        if self.tail.compare_exchange(Ptr(node.as_ptr()), Ptr::NULL, Release, Relaxed).is_ok() {
            // SAFETY: no thread came behind us, so that no thread knows the node.
            unsafe { nodes::give(node) };
            return;
        }
        // SAFETY: the node is ours until the store below gives it to the one behind.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*node.as_ptr()).waiting };
        // SAFETY: as above. Release: the next holder sees our writes.
        unsafe { (*flag).store(0, Release) };
        M::wake::<u32>(flag, 1, wait);
    }
}

// SAFETY: as `lock`, entering only where no node is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for Clh<M> {
    #[inline]
    fn try_lock(&self) -> Option<NonNull<Node<M>>> {
        let node = nodes::take::<M>();
        // SAFETY: the node is ours. Relaxed: the exchange publishes it.
        unsafe { node.as_ref() }.waiting.store(1, Relaxed);
        // AcqRel: as the swap in `lock`. Relaxed on failure: nothing is read through it.
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
