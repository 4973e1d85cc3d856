//! A CLH queue that other threads may overtake while it sleeps: see [`barging`](super::barging).

use super::barging::{ASLEEP, Barging, Debt, HEAD, Queue, SLEEP, WAITS, watch};
use super::{Counted, LockInfo, Posix, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// A CLH queue in front of a word that any thread may take.
pub type ClhBarging<M> = Barging<M, ClhQueue<M>>;

/// The queue: its last node, null if it is empty. Each waiter watches the node in front, and keeps
/// it afterwards.
#[repr(transparent)]
pub struct ClhQueue<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

// SAFETY: the queue is one pointer, empty when null.
unsafe impl<M: Machine> ZeroInit for ClhQueue<M> {}

// SAFETY: a thread is the head if it found no node in front, or when the head in front has changed
// that node's flag, which happens once, on leaving. After the release `settle` accesses only its
// own node.
unsafe impl<M: Machine> Queue<M> for ClhQueue<M> {
    type Place = NonNull<Node<M>>;
    const INFO: LockInfo = LockInfo {
        name: "clh-barging",
        what: "CLH queue before a word that any thread may take: no hand-off to a sleeper",
        source: "Craig, UW TR 93-02-02; barging as in Dice, Malthusian Locks, EuroSys 2017",
        limits: "order of arrival only among those that queue; nodes wander between threads",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: true,
        waits: Waits::Fixed(Wait::SpinPark(SPIN_TRIES)),
        counted: Counted { instructions: 13.0, accesses: 2 },
        c_number: 15,
    };

    fn new() -> Self {
        ClhQueue { tail: M::Atomic::new(Ptr::NULL) }
    }

    fn aged() -> Self {
        Self::new()
    }

    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        nodes::provide::<M>(memory)
    }

    fn enter(&self, tries: u32) -> NonNull<Node<M>> {
        let place = nodes::take::<M>();
        // SAFETY: the node belongs to this thread, fresh from the free list. Relaxed: the swap
        // publishes it.
        unsafe { place.as_ref() }.waiting.store(WAITS, Relaxed);
        // Release: a thread that finds this node finds its flag set. Acquire: likewise for the node
        // in front.
        let front = self.tail.swap(Ptr(place.as_ptr()), AcqRel);
        if let Some(front) = NonNull::new(front.0) {
            // SAFETY: the owner gives up the node in front only to this thread.
            watch::<M>(unsafe { &front.as_ref().waiting }, tries);
            // SAFETY: the node's owner has left it and no third thread ever knew it, so it belongs
            // to this thread; a wake-up that may still come uses only its address.
            unsafe { nodes::give(front) };
        }
        place
    }

    fn pass_on(&self, place: NonNull<Node<M>>) -> Debt {
        // Relaxed: a thread that finds the queue empty needs to see nothing that this thread did.
        if self.tail.compare_exchange(Ptr(place.as_ptr()), Ptr::NULL, Relaxed, Relaxed).is_ok() {
            // SAFETY: no thread came behind, so no other thread knows the node.
            unsafe { nodes::give(place) };
            return Debt::NONE;
        }
        // SAFETY: the node belongs to this thread until the exchange below gives it to the thread
        // behind.
        let flag = unsafe { &(*place.as_ptr()).waiting };
        // Relaxed: the thread behind uses or frees the node only after it has held the lock, which
        // this thread releases later.
        match flag.compare_exchange(WAITS, HEAD, Relaxed, Relaxed) {
            Ok(_) => Debt::NONE,
            Err(_) => Debt(place.as_ptr().expose_provenance()),
        }
    }

    unsafe fn settle(_: *const Self, debt: Debt) {
        let place = NonNull::new(core::ptr::with_exposed_provenance_mut::<Node<M>>(debt.0)).expect("a debt is a node");
        // SAFETY: the node belongs to this thread until the swap below gives it to the thread
        // behind.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*place.as_ptr()).waiting };
        // SAFETY: the node with the flag belongs to this thread until this swap. Release: the lock
        // is already released, and the node belongs to the thread behind afterwards.
        if unsafe { (*flag).swap(HEAD, Release) } == ASLEEP {
            M::wake::<u32>(flag, 1, SLEEP);
        }
    }
}
