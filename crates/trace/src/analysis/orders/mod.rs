//! Orders of locks that could deadlock, whether or not they did.
//!
//! A thread that takes one lock while it holds another shows an order of the two. Locks that threads
//! take in a circle of orders can deadlock: each thread holds one lock and waits for the next. A
//! circle is reported if nothing that the trace shows rules it out:
//!
//! - each order in the circle comes from a different thread;
//! - no two of these threads hold one lock in common meanwhile (a gate), unless both hold it
//!   shared;
//! - each wait can last for ever: tries and waits with a deadline cannot, and readers do not wait
//!   for readers;
//! - no two of the orders are kept apart in time by the creation or the join of a thread, by a
//!   barrier, or by a region of OpenMP.
//!
//! An order that the program keeps by other means (a semaphore, a flag) is not seen.

mod before;
mod circles;
mod walk;

use super::objects::ObjectId;
use crate::event::{SiteId, ThreadIndex};
use crate::trace::Trace;

/// Circles of lock orders that could deadlock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// The circles, the shortest first.
    pub circles: Vec<Vec<Order>>,
    /// Whether there may be more circles, because the search was given up.
    pub cut: bool,
}

/// One step of a circle: a thread takes a lock while it holds another, for which the thread of the
/// step before waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The thread.
    pub thread: ThreadIndex,
    /// The lock that the thread holds.
    pub held: ObjectId,
    /// The call site that took the held lock.
    pub held_at: SiteId,
    /// The lock that the thread takes.
    pub wanted: ObjectId,
    /// The call site that takes the wanted lock.
    pub wanted_at: SiteId,
    /// How often threads took the two locks in this order.
    pub times: u64,
}

impl Orders {
    /// Finds the circles of lock orders of a trace.
    pub fn of(trace: &Trace) -> Orders {
        circles::find(&walk::nestings(trace))
    }
}
