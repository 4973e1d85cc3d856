//! What a model is, and a queue of the registry as one.

use baton_machine::{Counted, CountedBulk, Machine, Wait};
use baton_sync::queue::{QueueError, RawQueue, Side};
use core::marker::PhantomData;

/// The name and description of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that says what the model is.
    pub what: &'static str,
    /// How many threads may send.
    pub producers: Side,
    /// How many threads may receive.
    pub consumers: Side,
    /// Whether the model needs a queue device.
    pub device: bool,
    /// Instructions and accesses of one item's way in and out.
    pub counted: Counted,
    /// Instructions and accesses of a bulk, for models that move a bulk as a range.
    pub counted_bulk: Option<CountedBulk>,
}

/// A way from producers to consumers. The threads of each side are numbered from 0.
///
/// # Safety
/// Every item that was sent is received once, and one consumer receives the items of one producer
/// in their order. What a producer wrote before it sent an item happens before the item is
/// received.
pub unsafe trait Channel<M: Machine>: Send + Sync + Sized + 'static {
    /// Sends items, in their order; waits while there is no room.
    ///
    /// # Safety
    /// One thread at a time is this producer.
    unsafe fn send(&self, producer: u32, items: &[u64], wait: Wait);

    /// Fills all of `items`; waits while there is no item.
    ///
    /// # Safety
    /// One thread at a time is this consumer.
    unsafe fn receive(&self, consumer: u32, items: &mut [u64], wait: Wait);

    /// Number of items that a consumer receives in all, when each producer sends `items` items in
    /// bulks of `bulk`. The default is an even share, for ways in which consumers take what there
    /// is.
    fn share(&self, _consumer: u32, sides: [u32; 2], items: u64, _bulk: u64) -> u64 {
        items * u64::from(sides[0]) / u64::from(sides[1].max(1))
    }
}

/// A model that is chosen by its name, on machine `M`.
pub trait Model<M: Machine>: Channel<M> {
    /// The name and description of the model.
    const INFO: ModelInfo;

    /// A way between the given numbers of producers and consumers. `capacity` is the number of
    /// places for each pair, or for all pairs together.
    ///
    /// # Errors
    /// Fails if the model cannot have this capacity, or needs a queue device and the
    /// machine has none with room.
    fn new(sides: [u32; 2], capacity: usize) -> Result<Self, QueueError>;
}

/// A queue of the registry as a channel.
pub struct Whole<M, Q>(Q, PhantomData<fn() -> M>);

impl<M: Machine, Q: RawQueue<M, Item = u64>> Whole<M, Q> {
    /// A channel in which all threads use the one queue.
    pub fn new(queue: Q) -> Self {
        Whole(queue, PhantomData)
    }
}

// SAFETY: a queue's contract promises all that a channel's does.
unsafe impl<M: Machine, Q: RawQueue<M, Item = u64>> Channel<M> for Whole<M, Q> {
    unsafe fn send(&self, _: u32, items: &[u64], wait: Wait) {
        // SAFETY: where a queue allows one producer, the channel has one, and by contract one
        // thread at a time calls for it.
        unsafe {
            match items {
                [item] => self.0.enqueue(*item, wait),
                _ => self.0.enqueue_all(items, wait),
            }
        }
    }

    unsafe fn receive(&self, _: u32, items: &mut [u64], wait: Wait) {
        // SAFETY: where a queue allows one consumer, the channel has one, and by contract one
        // thread at a time calls for it.
        unsafe {
            match items {
                [item] => *item = self.0.dequeue(wait),
                _ => self.0.dequeue_all(items, wait),
            }
        }
    }
}

/// What to do with a model that is known by name only.
pub trait ModelVisitor<M: Machine> {
    /// The result of the visit.
    type Out;
    /// Receives the model as the type `C`.
    fn visit<C: Model<M>>(self) -> Self::Out;
}
