//! An MCS queue that other threads may overtake while it sleeps: see [`barging`](super::barging).

use super::barging::{ASLEEP, Barging, Debt, HEAD, Queue, SLEEP, WAITS, watch};
use super::{Counted, LockInfo, Posix, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// An MCS queue in front of a word that any thread may take.
pub type McsBarging<M> = Barging<M, McsQueue<M>>;

/// The queue: its last node, null if it is empty. Each waiter watches its own node.
#[repr(transparent)]
pub struct McsQueue<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

// SAFETY: the queue is one pointer, empty when null.
unsafe impl<M: Machine> ZeroInit for McsQueue<M> {}

// SAFETY: a thread is the head if it found no node in front, or when the head in front has changed
// its flag, which happens once, on leaving. After the release `settle` accesses only nodes: its
// own, and that of a waiter that stays until then.
unsafe impl<M: Machine> Queue<M> for McsQueue<M> {
    type Place = NonNull<Node<M>>;
    const INFO: LockInfo = LockInfo {
        name: "mcs-barging",
        what: "MCS queue before a word that any thread may take: no hand-off to a sleeper",
        source: "after Dice, Malthusian Locks, EuroSys 2017, and Kashyap et al., ShflLock, SOSP 2019",
        limits: "order of arrival only among those that queue; they are passed over at most 16 wake-ups long",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        counted: Counted { instructions: 13.0, accesses: 2 },
        c_number: 14,
    };

    fn new() -> Self {
        McsQueue { tail: M::Atomic::new(Ptr::NULL) }
    }

    fn aged() -> Self {
        Self::new()
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    fn enter(&self, tries: u32) -> NonNull<Node<M>> {
        let place = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from the free list.
        let node = unsafe { place.as_ref() };
        // Relaxed for both: the swap and the link below publish them.
        node.next.store(Ptr::NULL, Relaxed);
        node.waiting.store(WAITS, Relaxed);
        // Release: this node is initialised. Acquire: see that the node in front is.
        let front = self.tail.swap(Ptr(place.as_ptr()), AcqRel);
        if !front.is_null() {
            // SAFETY: the owner of the node in front cannot leave before this thread has linked
            // itself behind it.
            let link: &M::Atomic<Ptr<Node<M>>> = unsafe { &(*front.0).next };
            let address: *const M::Atomic<Ptr<Node<M>>> = link;
            // Release: a thread that follows the link finds the node waiting.
            link.store(Ptr(place.as_ptr()), Release);
            // The thread in front may wait for the link in `settle`.
            M::wake::<Ptr<Node<M>>>(address, 1, SLEEP);
            watch::<M>(&node.waiting, tries);
        }
        place
    }

    fn pass_on(&self, place: NonNull<Node<M>>) -> Debt {
        // SAFETY: the node is the head's, which is this thread, until this thread gives it back.
        let node = unsafe { place.as_ref() };
        // Acquire: see the flag that the thread behind set before it linked itself.
        let behind = node.next.load(Acquire);
        let passed = if behind.is_null() {
            // Relaxed: a thread that finds the queue empty needs to see nothing that this thread
            // did.
            self.tail.compare_exchange(Ptr(place.as_ptr()), Ptr::NULL, Relaxed, Relaxed).is_ok()
        } else {
            // SAFETY: the thread behind waits for this change, so its node is alive. Relaxed: that
            // thread may free its node only after it has held the lock, which this thread releases
            // later.
            unsafe { &(*behind.0).waiting }.compare_exchange(WAITS, HEAD, Relaxed, Relaxed).is_ok()
        };
        if !passed {
            return Debt(place.as_ptr().expose_provenance());
        }
        // SAFETY: no thread refers to the node: the thread behind only wrote this node's link,
        // which has been read.
        unsafe { nodes::give(place) };
        Debt::NONE
    }

    unsafe fn settle(_: *const Self, debt: Debt) {
        let place = NonNull::new(core::ptr::with_exposed_provenance_mut::<Node<M>>(debt.0)).expect("a debt is a node");
        // SAFETY: the node belongs to this thread until this thread gives it back.
        let link = unsafe { &(*place.as_ptr()).next };
        // Acquire: see the flag that the thread behind set before it linked itself.
        let mut behind = link.load(Acquire);
        if behind.is_null() {
            behind = nodes::linked::<M>(link, SLEEP);
        }
        // SAFETY: the thread behind waits for this change, so its node is alive until then.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*behind.0).waiting };
        // SAFETY: the thread behind waits for this swap, so the node with the flag is alive.
        // Release: the lock is already released, and the thread behind may free its node.
        if unsafe { (*flag).swap(HEAD, Release) } == ASLEEP {
            M::wake::<u32>(flag, 1, SLEEP);
        }
        // SAFETY: no thread refers to the node, as in `pass_on`.
        unsafe { nodes::give(place) };
    }
}
