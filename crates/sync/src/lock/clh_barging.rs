//! A CLH queue that is passed over while it sleeps: see [`barging`](super::barging).

use super::barging::{ASLEEP, Barging, Debt, HEAD, Queue, SLEEP, WAITS, watch};
use super::{Counted, LockInfo, Posix, Waits, ZeroInit};
use crate::nodes::{self, Node};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Machine, Wait};
use core::alloc::Layout;
use core::ptr::NonNull;

/// The lock.
pub type ClhBarging<M> = Barging<M, ClhQueue<M>>;

/// The queue: its last node, null if there is none. Each waiter watches the node in front, and keeps it afterwards.
#[repr(transparent)]
pub struct ClhQueue<M: Machine> {
    tail: M::Atomic<Ptr<Node<M>>>,
}

// SAFETY: one null pointer, empty when null.
unsafe impl<M: Machine> ZeroInit for ClhQueue<M> {}

// SAFETY: a thread is the head when it found no node in front, or when the head in front of it has changed that node's flag, which it
// does once, on leaving. After the release `settle` touches its own node alone.
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
        // SAFETY: the node is ours, fresh from the free list. Relaxed: the swap publishes it.
        unsafe { place.as_ref() }.waiting.store(WAITS, Relaxed);
        // Release: a thread that finds our node finds its flag set. Acquire: the same of the node in front.
        let front = self.tail.swap(Ptr(place.as_ptr()), AcqRel);
        if let Some(front) = NonNull::new(front.0) {
            // SAFETY: the node in front is given up only to the thread behind it: us.
            watch::<M>(unsafe { &front.as_ref().waiting }, tries);
            // SAFETY: its owner has left it and no other thread ever knew it, so that it is ours; the wake that may
            // still come uses its address only.
            unsafe { nodes::give(front) };
        }
        place
    }

    fn pass_on(&self, place: NonNull<Node<M>>) -> Debt {
        // Relaxed: an empty queue tells the next one to come nothing.
        if self.tail.compare_exchange(Ptr(place.as_ptr()), Ptr::NULL, Relaxed, Relaxed).is_ok() {
            // SAFETY: no thread came behind us, so that no thread knows the node.
            unsafe { nodes::give(place) };
            return Debt::NONE;
        }
        // SAFETY: the node is ours until the exchange below gives it to the one behind.
        let flag = unsafe { &(*place.as_ptr()).waiting };
        // Relaxed: the one behind uses or frees the node once it has held the lock, which we release after this.
        match flag.compare_exchange(WAITS, HEAD, Relaxed, Relaxed) {
            Ok(_) => Debt::NONE,
            Err(_) => Debt(place.as_ptr().expose_provenance()),
        }
    }

    unsafe fn settle(_: *const Self, debt: Debt) {
        let place = NonNull::new(core::ptr::with_exposed_provenance_mut::<Node<M>>(debt.0)).expect("a debt is a node");
        // SAFETY: the node is ours until the swap below gives it to the one behind.
        let flag: *const M::Atomic<u32> = unsafe { &raw const (*place.as_ptr()).waiting };
        // SAFETY: as above. Release: the lock is released already, and the node is the other's.
        if unsafe { (*flag).swap(HEAD, Release) } == ASLEEP {
            M::wake::<u32>(flag, 1, SLEEP);
        }
    }
}
