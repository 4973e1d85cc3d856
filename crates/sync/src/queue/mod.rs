//! Bounded queues: first in, first out.
//!
//! Items pass through [`Slot`](baton_machine::Slot)s, so that a model checker sees races on them.

pub mod channel;
pub mod chosen;
mod item;
pub mod lend;
pub mod watched;
#[macro_use]
mod registry;
every_queue!([crate::registry::modules]);

pub use registry::{QUEUES, QueueVisitor, UnknownQueue, visit};

pub use baton_machine::{Counted, CountedBulk};
use baton_machine::{Machine, Wait};
use thiserror::Error;

/// How many threads may use one side of a queue at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// One thread.
    Single,
    /// Any number of threads.
    Multi,
}

/// The description of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the queue works, in one line.
    pub what: &'static str,
    /// The paper or program that the queue comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
    /// How many threads may enqueue at a time.
    pub producers: Side,
    /// How many threads may dequeue at a time.
    pub consumers: Side,
    /// Whether the queue implements [`BulkQueue`].
    pub bulk: bool,
    /// Whether the queue lives in a queue device ([`Machine::queues`]); a machine without such a
    /// device cannot have the queue.
    pub device: bool,
    /// Cost of an item's enqueue and dequeue. `scripts/check/sync-instructions` counts it.
    pub counted: Counted,
    /// Cost of a bulk by [`RawQueue::enqueue_all`] and [`RawQueue::dequeue_all`], if the queue
    /// moves it as a range; `None` if it moves item by item.
    pub counted_bulk: Option<CountedBulk>,
}

/// Why a queue cannot be created.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QueueError {
    /// No queue can have this capacity.
    #[error("a queue cannot have a capacity of {0}; expected a power of two from 1 to 2^30")]
    Capacity(usize),
    /// The queue lives in a queue device, and the machine has none.
    #[error("the machine has no queue device")]
    NoDevice,
    /// No queue device of the machine has room for another queue of this capacity.
    #[error("no queue device of the machine has room for another queue of {0} items")]
    NoRoom(usize),
}

/// No queue can be bounded to this number of items.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a queue cannot be bounded to {0} items; expected 1 to 2^30")]
pub struct BadBound(pub usize);

/// A bounded queue. All users of a queue pass the same `wait`.
///
/// # Safety
/// No enqueued item is lost or dequeued twice, and the items of one producer are dequeued
/// in their order. What a producer wrote before its enqueue happens before the dequeue of the item
/// returns.
pub unsafe trait RawQueue<M: Machine>: Send + Sync + Sized + 'static {
    /// The type of the items.
    type Item: Send + 'static;

    /// Description of the queue, its line in the registry.
    const INFO: QueueInfo;

    /// Creates an empty queue for `capacity` items, a power of two from 1 to 2^30.
    ///
    /// # Errors
    /// Fails if the capacity is not allowed, or, with [`QueueInfo::device`], if the machine has no
    /// queue device with room.
    fn with_capacity(capacity: usize) -> Result<Self, QueueError>;

    /// Creates an empty queue whose counts are about to wrap; the contract suite starts from it to
    /// test a long life in a short time. A queue whose counts can wrap must override it.
    ///
    /// # Errors
    /// The errors are those of [`RawQueue::with_capacity`].
    fn aged(capacity: usize) -> Result<Self, QueueError> {
        Self::with_capacity(capacity)
    }

    /// Returns the queue's name; for `auto`, the name of the queue that it chose.
    fn took(&self) -> &'static str {
        Self::INFO.name
    }

    /// Returns the number of items that the queue can hold.
    fn capacity(&self) -> usize;

    /// Appends an item, or returns it as the error if the queue is full.
    ///
    /// # Safety
    /// If producers are [`Side::Single`], no other thread enqueues meanwhile, and earlier enqueues
    /// happened before this one.
    unsafe fn try_enqueue(&self, item: Self::Item, wait: Wait) -> Result<(), Self::Item>;

    /// Takes the item at the front, if there is one.
    ///
    /// # Safety
    /// If consumers are [`Side::Single`], no other thread dequeues meanwhile, and earlier dequeues
    /// happened before this one.
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<Self::Item>;

    /// Appends an item, waiting while the queue is full.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_enqueue`] hold.
    unsafe fn enqueue(&self, item: Self::Item, wait: Wait);

    /// Takes the item at the front, waiting while there is none.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_dequeue`] hold.
    unsafe fn dequeue(&self, wait: Wait) -> Self::Item;

    /// Appends all items in order, waiting while there is no room. Other threads' items may come
    /// between them.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_enqueue`] hold.
    unsafe fn enqueue_all(&self, items: &[Self::Item], wait: Wait)
    where
        Self::Item: Copy,
    {
        for &item in items {
            // SAFETY: guaranteed by the caller.
            unsafe { self.enqueue(item, wait) };
        }
    }

    /// Fills all of `items` from the front, waiting while the queue is empty. Other threads may
    /// take items in between.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_dequeue`] hold.
    unsafe fn dequeue_all(&self, items: &mut [Self::Item], wait: Wait)
    where
        Self::Item: Copy,
    {
        for item in items {
            // SAFETY: guaranteed by the caller.
            *item = unsafe { self.dequeue(wait) };
        }
    }
}

/// A queue that moves several items at the cost of about one.
///
/// # Safety
/// The rules of [`RawQueue`] hold, and the items of one call stay together.
pub unsafe trait BulkQueue<M: Machine>: RawQueue<M, Item: Copy> {
    /// Enqueues all of `items`, or none. Returns whether it enqueued them.
    fn enqueue_bulk(&self, items: &[Self::Item], wait: Wait) -> bool;
    /// Enqueues the first of `items`, as many as there is room for. Returns how many.
    fn enqueue_burst(&self, items: &[Self::Item], wait: Wait) -> usize;
    /// Fills all of `items` from the front of the queue, or takes nothing. Returns whether it
    /// filled them.
    fn dequeue_bulk(&self, items: &mut [Self::Item], wait: Wait) -> bool;
    /// Fills the beginning of `items` with as many items as the queue has. Returns how many.
    fn dequeue_burst(&self, items: &mut [Self::Item], wait: Wait) -> usize;
}

/// Largest capacity: indices have 32 bits, and their differences must not look negative.
const MOST: usize = 1 << 30;

/// A queue whose capacity need not be a power of two.
///
/// # Safety
/// The rules of [`RawQueue`] hold.
pub unsafe trait ExactQueue<M: Machine>: RawQueue<M> {
    /// Creates an empty queue for `capacity` items, from 1 to 2^30.
    ///
    /// # Errors
    /// Fails if the capacity is not allowed.
    fn exactly(capacity: usize) -> Result<Self, BadBound>;

    /// Returns the number of items in the queue. The number may be stale at once.
    fn len(&self) -> usize;

    /// Whether the queue has no item. The answer may be stale at once.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each call that puts an item in or takes one out changes by an atomic read-modify-write the
    /// word by which other threads see that, so that a notification after the call needs no fence on
    /// machines where such an operation is one ([`Machine::fence_after_exchange`]).
    const EXCHANGES: bool = false;

    /// Hears what its users do; nothing, unless the queue is recorded.
    #[inline(always)]
    fn hear(&self, _news: News) {}

    /// Appends the first of `items`, as many as there is room for. Returns how many.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_enqueue`] hold.
    unsafe fn put_some(&self, items: &[Self::Item], wait: Wait) -> usize
    where
        Self::Item: Copy,
    {
        // SAFETY: guaranteed by the caller.
        items.iter().take_while(|item| unsafe { self.try_enqueue(**item, wait) }.is_ok()).count()
    }

    /// Fills the beginning of `items` with as many items as there are. Returns how many.
    ///
    /// # Safety
    /// The rules of [`RawQueue::try_dequeue`] hold.
    unsafe fn take_some(&self, items: &mut [Self::Item], wait: Wait) -> usize
    where
        Self::Item: Copy,
    {
        for (count, item) in items.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            match unsafe { self.try_dequeue(wait) } {
                Some(found) => *item = found,
                None => return count,
            }
        }
        items.len()
    }
}

/// What the users of a queue tell a queue that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The queue was made, and stays where it is.
    Made,
    /// The thread is about to close the queue.
    Closes,
    /// The thread is about to wait for room.
    WaitsForRoom,
    /// The thread is about to wait for an item.
    WaitsForItem,
    /// The thread waits no longer: there is room, or an item, which it moves later.
    Got,
    /// The thread waits no longer.
    GoesOn,
}

/// Returns the number of places for a queue that is bounded to `capacity` items.
pub(crate) fn places_for(capacity: usize) -> Result<usize, BadBound> {
    if (1..=MOST).contains(&capacity) { Ok(capacity.next_power_of_two()) } else { Err(BadBound(capacity)) }
}

/// Checks that a queue can have this capacity, and returns it.
pub(crate) fn check_capacity(capacity: usize) -> Result<u32, QueueError> {
    if capacity.is_power_of_two() && capacity <= MOST {
        Ok(capacity as u32)
    } else {
        Err(QueueError::Capacity(capacity))
    }
}
