//! Queue nodes: each guest thread keeps a free list of them in its storage, so that locks need no
//! node from their caller and allocate only the first few times. A node may return to another
//! thread's list than the one that it came from.

use crate::token::Token;
use baton_machine::cell::Ptr;
use baton_machine::local::Use;
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// A waiter's place in a queue, alone in its pair of cache lines (prefetchers fetch adjacent lines
/// in pairs).
#[repr(C, align(128))]
pub struct Node<M: Machine> {
    /// The waiter behind, once it has linked itself.
    pub(crate) next: M::Atomic<Ptr<Node<M>>>,
    /// The flag that a waiter watches: the node's owner, or with CLH the thread behind the owner.
    /// It is not 0 while that waiter must wait.
    pub(crate) waiting: M::Atomic<u32>,
    /// The waiter in front, and the order of arrival; used only in the queue of an event and by the
    /// lock `fair`.
    pub(crate) prev: M::Atomic<Ptr<Node<M>>>,
    pub(crate) ticket: M::Atomic<u64>,
    /// The next node in the free list; only the list's thread accesses it.
    below: Cell<usize>,
}

impl<M: Machine> Node<M> {
    /// Creates a node that no thread waits behind.
    pub fn new() -> Self {
        Node {
            next: M::Atomic::new(Ptr::NULL),
            waiting: M::Atomic::new(0),
            prev: M::Atomic::new(Ptr::NULL),
            ticket: M::Atomic::new(0),
            below: Cell::new(0),
        }
    }
}

impl<M: Machine> Default for Node<M> {
    fn default() -> Self {
        Node::new()
    }
}

// SAFETY: only the thread whose list the node is in accesses `below`, the one field that is not
// atomic.
unsafe impl<M: Machine> Sync for Node<M> {}
// SAFETY: only the thread whose list the node is in accesses `below`.
unsafe impl<M: Machine> Send for Node<M> {}

impl<M: Machine> Token for NonNull<Node<M>> {
    #[inline(always)]
    fn to_word(self) -> usize {
        self.as_ptr().expose_provenance()
    }
    #[inline(always)]
    fn from_word(word: usize) -> Self {
        NonNull::new(core::ptr::with_exposed_provenance_mut(word)).expect("a queue lock is unlocked by its node")
    }
}

/// Waits until the waiter behind, which is already in the queue, has linked itself. Returns its
/// node.
#[cold]
pub(crate) fn linked<M: Machine>(link: &M::Atomic<Ptr<Node<M>>>, wait: Wait) -> Ptr<Node<M>> {
    match M::wait_while(link, Ptr::NULL, wait, None) {
        WaitResult::Changed(behind) => behind,
        WaitResult::Expired => unreachable!("no deadline was given"),
    }
}

/// Takes a node from the calling thread's list, or allocates one.
#[inline]
pub(crate) fn take<M: Machine>() -> NonNull<Node<M>> {
    let local = M::local();
    match NonNull::new(core::ptr::with_exposed_provenance_mut::<Node<M>>(local.get(Use::QueueNodes))) {
        Some(node) => {
            // SAFETY: a node in the list belongs to this thread alone.
            local.set(Use::QueueNodes, unsafe { node.as_ref() }.below.get());
            node
        }
        None => allocate::<M>(),
    }
}

/// Puts a node that no thread refers to any more into the calling thread's list.
///
/// # Safety
/// The node came from [`take`] or [`prepare`], and no other thread will touch it.
#[inline]
pub(crate) unsafe fn give<M: Machine>(node: NonNull<Node<M>>) {
    let local = M::local();
    // SAFETY: by contract the node belongs to this thread alone.
    unsafe { node.as_ref() }.below.set(local.get(Use::QueueNodes));
    local.set(Use::QueueNodes, node.as_ptr().expose_provenance());
}

/// Makes sure that the calling thread's list has a node. Returns false if there is no memory.
/// `memory` returns memory like [`Machine::alloc`], or null.
#[inline]
pub(crate) fn provide<M: Machine>(memory: fn(Layout) -> *mut u8) -> bool {
    if M::local().get(Use::QueueNodes) != 0 {
        return true;
    }
    let node = prepare::<M>(memory(Layout::new::<Node<M>>()).cast());
    // SAFETY: a new node, which no other thread knows.
    node.map(|node| unsafe { give::<M>(node) }).is_some()
}

#[cold]
fn allocate<M: Machine>() -> NonNull<Node<M>> {
    let node = prepare::<M>(M::alloc(Layout::new::<Node<M>>()).cast().as_ptr());
    node.expect("`alloc` returns memory")
}

/// Creates a node in `memory`. Returns `None` if that is null.
#[cold]
fn prepare<M: Machine>(memory: *mut Node<M>) -> Option<NonNull<Node<M>>> {
    let node = NonNull::new(memory)?;
    M::local().at_end(Use::QueueNodes, free_list::<M>);
    // SAFETY: the memory was allocated for one node.
    unsafe { node.write(Node::new()) };
    Some(node)
}

/// Frees the list of a thread that ends.
fn free_list<M: Machine>(first: usize) {
    let mut next = first;
    while let Some(node) = NonNull::new(core::ptr::with_exposed_provenance_mut::<Node<M>>(next)) {
        // SAFETY: the list's nodes came from `prepare`, belong to the ending thread, and no thread
        // refers to them.
        unsafe {
            next = node.as_ref().below.get();
            node.drop_in_place();
            M::dealloc(node.cast(), Layout::new::<Node<M>>());
        }
    }
}
