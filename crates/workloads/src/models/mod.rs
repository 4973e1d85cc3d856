//! Ways between producers and consumers that are no queue of the registry: each call says which
//! thread makes it, or the way stands for hardware that no processor has. Queues are compared with
//! these models on a simulated chip.
//!
//! | model | stands for |
//! | --- | --- |
//! | [`lanes`] | a queue for each pair of threads, as experts build it |
//! | [`free_ring`] | the ring with critical sections that cost nothing: the baseline that the CAF paper ran |
//! | [`haqu`] | HAQu, as the CAF paper tells of it |
//! | [`posted`] | the queue device behind the instructions of today's processors |

pub mod free_ring;
pub mod haqu;
pub mod lanes;
pub mod posted;

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
    /// Which threads may send.
    pub producers: Side,
    /// Which threads may receive.
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
    /// The capacity is not one that the model takes.
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

// SAFETY: the queue's contract.
unsafe impl<M: Machine, Q: RawQueue<M, Item = u64>> Channel<M> for Whole<M, Q> {
    unsafe fn send(&self, _: u32, items: &[u64], wait: Wait) {
        // SAFETY: by contract; a queue for one producer has one.
        unsafe {
            match items {
                [item] => self.0.enqueue(*item, wait),
                _ => self.0.enqueue_all(items, wait),
            }
        }
    }

    unsafe fn receive(&self, _: u32, items: &mut [u64], wait: Wait) {
        // SAFETY: by contract; a queue for one consumer has one.
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

macro_rules! models {
    ($($room:ident::$model:ident,)*) => {
        /// Every model.
        pub const MODELS: &[ModelInfo] = &[$(<$room::$model<baton_machine::Native> as Model<baton_machine::Native>>::INFO),*];

        /// Passes the type of the model with that name to the visitor; `None` if there is no such
        /// model.
        pub fn visit<M: Machine, V: ModelVisitor<M>>(name: &str, visitor: V) -> Option<V::Out> {
            $(if name == <$room::$model<M> as Model<M>>::INFO.name {
                return Some(visitor.visit::<$room::$model<M>>());
            })*
            None
        }
    };
}

models! {
    lanes::Lanes,
    free_ring::FreeRing,
    haqu::Haqu,
    posted::Posted,
    posted::PostedAhead,
}
