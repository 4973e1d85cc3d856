//! MCS queue lock: each waiter waits on its own flag, and the holder hands the lock to the thread
//! behind it.

use super::{Counted, Fifo, LockInfo, Posix, RawLock, TryLock, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// An MCS lock: the last node of the queue, null when free.
#[repr(transparent)]
pub struct Mcs<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

impl<M: Machine> Mcs<M> {
    /// Takes the lock with a node that the caller provides.
    ///
    /// # Safety
    /// The node is in no queue and stays alive and in place until [`Mcs::unlock_node`] has
    /// returned.
    #[inline]
    pub unsafe fn lock_node(&self, node: &Node<M>, wait: Wait) {
        // Relaxed: no other thread knows the node yet; the swap publishes it.
        node.next.store(Ptr::NULL, Relaxed);
        // Release: the node is initialised. Acquire: see the node in front, or the last holder's
        // writes if there is none.
        let front = self.tail.swap(Ptr(core::ptr::from_ref(node).cast_mut()), AcqRel);
        if !front.is_null() {
            // SAFETY: the owner of the node in front cannot leave before this thread has linked
            // itself behind it.
            unsafe { self.queue(&*front.0, node, wait) };
        }
    }

    #[cold]
    fn queue(&self, front: &Node<M>, node: &Node<M>, wait: Wait) {
        // Relaxed: the link below publishes it.
        node.waiting.store(1, Relaxed);
        let link: *const M::Atomic<Ptr<Node<M>>> = &front.next;
        // Release: a thread that follows the link finds the node waiting.
        front.next.store(Ptr(core::ptr::from_ref(node).cast_mut()), Release);
        // The thread in front may wait for the link in `unlock_node`.
        M::wake::<Ptr<Node<M>>>(link, 1, wait);
        // The wait's acquire: see the last holder's writes.
        let _ = M::wait_while(&node.waiting, 1, wait, None);
    }

    /// Hands the lock to the next waiter, or frees it.
    ///
    /// # Safety
    /// The calling thread holds the lock by `node`, locked with the same `wait`.
    #[inline]
    pub unsafe fn unlock_node(&self, node: &Node<M>, wait: Wait) {
        // Acquire: see the flag that the thread behind set before it linked itself.
        let mut behind = node.next.load(Acquire);
        if behind.is_null() {
            let me = Ptr(core::ptr::from_ref(node).cast_mut());
            // Release: the next holder sees this thread's writes. Relaxed on failure: it says only
            // that another thread came.
            if self.tail.compare_exchange(me, Ptr::NULL, Release, Relaxed).is_ok() {
                return;
            }
            behind = nodes::linked::<M>(&node.next, wait);
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

// SAFETY: the lock is one pointer, free when null.
unsafe impl<M: Machine> ZeroInit for Mcs<M> {}

/// Threads arrive in the order of their swaps on the tail.
impl<M: Machine> Fifo for Mcs<M> {
    fn is_free(&self) -> bool {
        // Acquire: if the lock is free, the last holder's accesses to it come before this call
        // returns.
        self.tail.load(Acquire).is_null()
    }
}

// SAFETY: a thread enters if it found no node in front, or when the thread in front cleared its
// flag, which happens once, on leaving. Node flags and the tail are stored with Release and read
// with Acquire.
unsafe impl<M: Machine> RawLock<M> for Mcs<M> {
    type Token = NonNull<Node<M>>;
    const INFO: LockInfo = LockInfo {
        name: "mcs",
        what: "queue lock: each waiter waits on its own flag",
        source: "Mellor-Crummey and Scott, ACM TOCS 1991",
        limits: "a preempted waiter holds up those behind it",
        fifo: true,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        counted: Counted { instructions: 29.1, accesses: 4 },
        c_number: 4,
    };

    fn new() -> Self {
        Mcs { tail: M::Atomic::new(Ptr::NULL) }
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    #[inline]
    fn lock(&self, wait: Wait) -> NonNull<Node<M>> {
        let node = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from the free list, until `unlock` gives
        // it back.
        unsafe { self.lock_node(node.as_ref(), wait) };
        node
    }

    #[inline]
    unsafe fn unlock(&self, node: NonNull<Node<M>>, wait: Wait) {
        // SAFETY: the caller holds the lock by this node, and afterwards no thread refers to it:
        // the thread in front left before this one entered, and the thread behind only wrote this
        // node's link, which has been read.
        unsafe {
            self.unlock_node(node.as_ref(), wait);
            nodes::give(node);
        }
    }
}

// SAFETY: like `lock`, entering only if no node is in front; a failed try published nothing.
unsafe impl<M: Machine> TryLock<M> for Mcs<M> {
    #[inline]
    fn try_lock(&self) -> Option<NonNull<Node<M>>> {
        let node = nodes::take::<M>();
        // SAFETY: the node belongs to this thread.
        let me = unsafe { node.as_ref() };
        me.next.store(Ptr::NULL, Relaxed);
        // AcqRel for the reasons in `lock_node`. Relaxed on failure: nothing is read through it.
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
