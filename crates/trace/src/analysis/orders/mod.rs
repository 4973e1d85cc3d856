//! Orders of locks that could deadlock, whether or not they did.
//!
//! A thread that takes one lock while it holds another shows an order of the two. Locks that threads
//! take in a circle of orders can deadlock: each thread holds one lock and waits for the next. A
//! circle is reported if nothing that the trace shows rules it out:
//!
//! - each order in it comes from another thread;
//! - no two of the threads hold a common lock meanwhile (a gate), unless both share it;
//! - each wait is one that can last for ever: tries and waits with a deadline are none, and readers
//!   do not wait for readers;
//! - no two of the orders lie in times of which one must end before the other begins: by the
//!   creation and the join of a thread, by a barrier, or by the regions of OpenMP.
//!
//! An order that the program keeps by other means (a semaphore, a flag) is not seen.

mod before;
mod circles;
mod walk;

use super::objects::ObjectId;
use crate::event::{SiteId, ThreadIndex};
use crate::trace::Trace;

/// Circles of lock orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// The circles, the shortest first.
    pub circles: Vec<Vec<Order>>,
    /// Whether there may be more: the search was given up.
    pub cut: bool,
}

/// One step of a circle: a thread takes a lock while it holds another, which the step before wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The thread.
    pub thread: ThreadIndex,
    /// The lock that it holds.
    pub held: ObjectId,
    /// The call site that took that lock.
    pub held_at: SiteId,
    /// The lock that it takes.
    pub wanted: ObjectId,
    /// The call site that takes it.
    pub wanted_at: SiteId,
    /// How often threads took the two locks in this order.
    pub times: u64,
}

impl Orders {
    /// Finds the circles of a trace.
    pub fn of(trace: &Trace) -> Orders {
        circles::find(&walk::nestings(trace))
    }
}
