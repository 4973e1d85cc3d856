//! Queues: bounded, first in first out.
//!
//! What they hold goes through [`Slot`](baton_machine::Slot)s, so that a checker sees a race on it.

mod item;
#[macro_use]
mod registry;
every_queue!([crate::registry::modules]);

pub use registry::{QUEUES, QueueVisitor, UnknownQueue, visit};

pub use baton_machine::{Counted, CountedBulk};
use baton_machine::{Machine, Wait};
use thiserror::Error;

/// How many threads may be on one side of a queue at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// One.
    Single,
    /// Any number.
    Multi,
}

/// What is said of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
    /// Which threads may enqueue.
    pub producers: Side,
    /// Which threads may dequeue.
    pub consumers: Side,
    /// Has [`BulkQueue`].
    pub bulk: bool,
    /// Lies in a queue device ([`Machine::queues`]): a machine without one cannot have it.
    pub device: bool,
    /// An item's way in and out. `scripts/check/sync-instructions` counts it.
    pub counted: Counted,
    /// A bulk's way by [`RawQueue::enqueue_all`] and [`RawQueue::dequeue_all`], where they move it as a range; else they move item by
    /// item.
    pub counted_bulk: Option<CountedBulk>,
}

/// Why a queue cannot be made.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QueueError {
    /// No queue can have this capacity.
    #[error("a queue cannot have a capacity of {0}; expected a power of two from 1 to 2^30")]
    Capacity(usize),
    /// It lies in a queue device, and the machine has none.
    #[error("the machine has no queue device")]
    NoDevice,
    /// No queue device of the machine has room for so many items, or for one more queue.
    #[error("no queue device of the machine has room for another queue of {0} items")]
    NoRoom(usize),
}

/// A bounded queue. All of its users pass the same `wait`.
///
/// # Safety
/// Every item that was enqueued is dequeued once, those of one producer in their order; what its producer wrote before
/// happens before the dequeue returns.
pub unsafe trait RawQueue<M: Machine>: Send + Sync + Sized + 'static {
    /// What it holds.
    type Item: Send + 'static;

    /// What is said of the queue; its line in the registry.
    const INFO: QueueInfo;

    /// An empty queue that can hold `capacity` items: a power of two from 1 to 2^30.
    ///
    /// # Errors
    /// The capacity, or, with [`QueueInfo::device`], the machine's device.
    fn with_capacity(capacity: usize) -> Result<Self, QueueError>;

    /// An empty queue whose counts are about to wrap: what the contract suite starts from to test a long life in a short
    /// time. A queue whose counts can wrap must override it.
    ///
    /// # Errors
    /// As [`RawQueue::with_capacity`].
    fn aged(capacity: usize) -> Result<Self, QueueError> {
        Self::with_capacity(capacity)
    }

    /// The name of the queue that it is: its own, or of the one that `auto` took.
    fn took(&self) -> &'static str {
        Self::INFO.name
    }

    /// How many items it can hold.
    fn capacity(&self) -> usize;

    /// Puts an item at the end, or gives it back if the queue is full.
    ///
    /// # Safety
    /// With a [`Side::Single`] of producers, no other thread enqueues meanwhile, and the earlier ones' calls happened
    /// before this one.
    unsafe fn try_enqueue(&self, item: Self::Item, wait: Wait) -> Result<(), Self::Item>;

    /// Takes the item at the front, if there is one.
    ///
    /// # Safety
    /// With a [`Side::Single`] of consumers, no other thread dequeues meanwhile, and the earlier ones' calls happened
    /// before this one.
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<Self::Item>;

    /// Puts an item at the end, waiting while the queue is full.
    ///
    /// # Safety
    /// As [`RawQueue::try_enqueue`].
    unsafe fn enqueue(&self, item: Self::Item, wait: Wait);

    /// Takes the item at the front, waiting while there is none.
    ///
    /// # Safety
    /// As [`RawQueue::try_dequeue`].
    unsafe fn dequeue(&self, wait: Wait) -> Self::Item;

    /// Puts all items at the end, in their order, waiting while there is no room. Other threads' items may come between them.
    ///
    /// # Safety
    /// As [`RawQueue::try_enqueue`].
    unsafe fn enqueue_all(&self, items: &[Self::Item], wait: Wait)
    where
        Self::Item: Copy,
    {
        for &item in items {
            // SAFETY: by contract.
            unsafe { self.enqueue(item, wait) };
        }
    }

    /// Fills all of `items` from the front, waiting while there are none. Items between them may go to other threads.
    ///
    /// # Safety
    /// As [`RawQueue::try_dequeue`].
    unsafe fn dequeue_all(&self, items: &mut [Self::Item], wait: Wait)
    where
        Self::Item: Copy,
    {
        for item in items {
            // SAFETY: by contract.
            *item = unsafe { self.dequeue(wait) };
        }
    }
}

/// A queue that moves several items at the cost of about one.
///
/// # Safety
/// As [`RawQueue`]; the items of one call stay together.
pub unsafe trait BulkQueue<M: Machine>: RawQueue<M, Item: Copy> {
    /// Enqueues all of `items`, or none; says whether it did.
    fn enqueue_bulk(&self, items: &[Self::Item], wait: Wait) -> bool;
    /// Enqueues as many of `items` as there is room for, first ones first; returns how many.
    fn enqueue_burst(&self, items: &[Self::Item], wait: Wait) -> usize;
    /// Fills all of `items` from the front of the queue, or none; says whether it did.
    fn dequeue_bulk(&self, items: &mut [Self::Item], wait: Wait) -> bool;
    /// Fills as much of `items` as there are items; returns how many.
    fn dequeue_burst(&self, items: &mut [Self::Item], wait: Wait) -> usize;
}

/// Largest capacity: indices are 32 bits, and their differences must not look negative.
const MOST: usize = 1 << 30;

/// Says whether a queue can have this capacity.
pub(crate) fn check_capacity(capacity: usize) -> Result<u32, QueueError> {
    if capacity.is_power_of_two() && capacity <= MOST {
        Ok(capacity as u32)
    } else {
        Err(QueueError::Capacity(capacity))
    }
}
