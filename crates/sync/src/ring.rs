//! A ring of waiters' nodes, for words that hold the address of the waiter that came last. Its
//! `next` is the waiter that came first.
//!
//! The caller of these functions has the guard of the ring. The guard orders all accesses, so that
//! they are relaxed.

use crate::nodes::Node;
use baton_machine::Ordering::Relaxed;
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine};
use core::ptr::NonNull;

/// A node in a ring, or null.
pub(crate) type Link<M> = Ptr<Node<M>>;

/// Returns the waiter that came first, or `None` if the ring that ends with `last` is empty.
///
/// # Safety
/// The caller has the guard, and `last` is the last node of the ring or null.
pub(crate) unsafe fn first<M: Machine>(last: Link<M>) -> Option<NonNull<Node<M>>> {
    let last = NonNull::new(last.0)?;
    // SAFETY: a node in the ring is alive, because removing it needs the guard.
    NonNull::new(unsafe { last.as_ref() }.next.load(Relaxed).0)
}

/// Puts `node` into the ring that ends with `last`, behind all others: it is the new last node.
///
/// # Safety
/// The caller has the guard. The node is in no ring, and lives until it has left this one.
pub(crate) unsafe fn add<M: Machine>(last: Link<M>, node: &Node<M>) -> Link<M> {
    let own = Ptr(core::ptr::from_ref(node).cast_mut());
    // SAFETY: the caller has the guard.
    let (front, behind) = match unsafe { first(last) } {
        Some(first) => (last, Ptr(first.as_ptr())),
        None => (own, own),
    };
    node.prev.store(front, Relaxed);
    node.next.store(behind, Relaxed);
    // SAFETY: both are nodes of the ring, or this node.
    unsafe {
        (*front.0).next.store(own, Relaxed);
        (*behind.0).prev.store(own, Relaxed);
    }
    own
}

/// Takes `node` out of the ring that ends with `last`. Returns the new last node.
///
/// # Safety
/// The caller has the guard, and `node` is in the ring.
pub(crate) unsafe fn remove<M: Machine>(last: Link<M>, node: &Node<M>) -> Link<M> {
    let (front, behind) = (node.prev.load(Relaxed), node.next.load(Relaxed));
    if core::ptr::eq(front.0, node) {
        return Ptr::NULL;
    }
    // SAFETY: nodes in the ring are alive, because removing them needs the guard.
    unsafe {
        (*front.0).next.store(behind, Relaxed);
        (*behind.0).prev.store(front, Relaxed);
    }
    if core::ptr::eq(last.0, node) { front } else { last }
}
