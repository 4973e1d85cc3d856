//! Ways between producers and consumers that are no queue of the registry: each is told which thread calls, or stands for hardware
//! that no processor has. They are what queues are compared with on a simulated chip.
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

/// What is said of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it is.
    pub what: &'static str,
    /// Which threads may send.
    pub producers: Side,
    /// Which threads may receive.
    pub consumers: Side,
    /// It needs a queue device.
    pub device: bool,
    /// An item's way in and out.
    pub counted: Counted,
    /// A bulk's way, where it moves as a range.
    pub counted_bulk: Option<CountedBulk>,
}

/// A way from producers to consumers, which are numbered from 0 on each side.
///
/// # Safety
/// Every item that was sent is received once, those of one producer by one consumer in their order; what its producer wrote before
/// happens before it is received.
pub unsafe trait Channel<M: Machine>: Send + Sync + Sized + 'static {
    /// Sends items, in their order, waiting while there is no room.
    ///
    /// # Safety
    /// One thread at a time is this producer.
    unsafe fn send(&self, producer: u32, items: &[u64], wait: Wait);

    /// Fills all of `items`, waiting while there are none.
    ///
    /// # Safety
    /// One thread at a time is this consumer.
    unsafe fn receive(&self, consumer: u32, items: &mut [u64], wait: Wait);

    /// Items that a consumer receives in all, when each of so many producers sends so many in bulks: an even share, where consumers
    /// take what there is.
    fn share(&self, _consumer: u32, sides: [u32; 2], items: u64, _bulk: u64) -> u64 {
        items * u64::from(sides[0]) / u64::from(sides[1].max(1))
    }
}

/// A model by name, at machine `M`.
pub trait Model<M: Machine>: Channel<M> {
    /// What is said of it.
    const INFO: ModelInfo;

    /// For so many producers and consumers, with so many places for each pair or for all.
    ///
    /// # Errors
    /// The capacity.
    fn new(sides: [u32; 2], capacity: usize) -> Result<Self, QueueError>;
}

/// A queue of the registry.
pub struct Whole<M, Q>(Q, PhantomData<fn() -> M>);

impl<M: Machine, Q: RawQueue<M, Item = u64>> Whole<M, Q> {
    /// All of the queue's users pass through it.
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
    /// What comes of it.
    type Out;
    /// The model's type arrives.
    fn visit<C: Model<M>>(self) -> Self::Out;
}

macro_rules! models {
    ($($room:ident::$model:ident,)*) => {
        /// Every model.
        pub const MODELS: &[ModelInfo] = &[$(<$room::$model<baton_machine::Native> as Model<baton_machine::Native>>::INFO),*];

        /// Passes the type of the model of that name on.
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
