//! Queues with flows: an item carries a flow (16 bits), and a consumer has an item in hand until it
//! is done with it. [`FlowOrder`] says what a queue promises meanwhile.
//!
//! | file | holds |
//! | --- | --- |
//! | [`soft`] | in memory, on every machine |
//! | [`device`] | in the machine's queue device |

pub mod device;
pub mod soft;

pub use baton_machine::flows::FlowOrder;
use baton_machine::{Machine, Owned, Wait};
use std::sync::Arc;
use thiserror::Error;

/// The names of the queues with flows.
pub const FLOW_QUEUES: [&str; 2] = [device::NAME, soft::NAME];

/// What a queue is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What the queue promises.
    pub order: FlowOrder,
    /// Number of items that wait, a power of two.
    pub capacity: usize,
    /// Ordered: number of items in hand, or done out of turn, at a time.
    ///
    /// Atomic, in a device: number of items among which the device looks for one whose flow is free.
    /// Atomic, in memory: number of buckets over which flows are spread. A consumer has a bucket at
    /// a time.
    pub window: u16,
}

/// Why a queue cannot be made, or a thread cannot receive from it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FlowError {
    /// No queue can have this capacity.
    #[error("a queue with flows cannot have a capacity of {0}; expected a power of two from 1 to 2^20")]
    Capacity(usize),
    /// No queue can have this window.
    #[error("a queue with flows cannot have a window of {0}; expected 1 to 64")]
    Window(u16),
    /// The queue's consumers would pass items on to queues of different devices.
    #[error("the machine's queue devices have no room for all queues in one device (device.qmd.entries, queues)")]
    Apart,
    /// The queue lives in a queue device, and the machine has none.
    #[error("the machine has no queue device")]
    NoDevice,
    /// The device refuses the queue, as devices do while the process's queues with flows move.
    #[error("the machine's queue device refuses a queue with flows while others are being moved")]
    Refused,
    /// The device has no room for the queue, or no tokens for the consumer.
    #[error("the machine's queue device has no room (device.qmd.entries, queues), or no tokens (device.qmd.tokens)")]
    NoRoom,
}

/// An item that a consumer has in hand. It is given back by [`FlowQueue::complete`] or
/// [`FlowQueue::pass_on`] of the queue that it came from.
#[derive(Debug)]
#[must_use = "the item stays in hand"]
pub struct InHand {
    /// The item.
    pub word: u64,
    /// The item's flow.
    pub flow: u16,
    /// What the queue knows the item by.
    token: u64,
}

impl InHand {
    /// An item that a queue gives out; the queue knows it by `token`.
    pub fn new(word: u64, flow: u16, token: u64) -> InHand {
        InHand { word, flow, token }
    }

    /// What the queue knows the item by.
    pub fn token(&self) -> u64 {
        self.token
    }
}

/// A queue in the machine's memory that several threads use.
pub type SharedQueue<M, Q> = Arc<Owned<M, Q>>;

/// A queue with flows.
///
/// # Safety
/// No item is lost or given out twice. What a producer wrote before it sent an item happens before
/// the item is received, and what a consumer did with an item in hand happens before the next item
/// of the flow is received, if the queue is atomic.
pub unsafe trait FlowQueue<M: Machine>: Send + Sync + Sized + 'static {
    /// Creates an empty queue whose consumers pass items on to the queues `to`.
    ///
    /// # Errors
    /// The queue cannot have the shape, or the machine has no device with room.
    fn new(shape: Shape, to: &[SharedQueue<M, Self>]) -> Result<Self, FlowError>;

    /// Prepares the calling thread for [`FlowQueue::receive`]. Each consumer calls this once,
    /// before it first receives.
    ///
    /// # Errors
    /// The device has no token left for the thread.
    fn bind(&self) -> Result<(), FlowError>;

    /// Appends an item; waits while there is no room.
    fn send(&self, word: u64, flow: u16, wait: Wait);

    /// Takes an item; waits while there is none for the calling thread. A thread has at most one
    /// item of a queue in hand at a time. `consumer` is the thread's number among the queue's
    /// consumers, from 0.
    fn receive(&self, consumer: u32, wait: Wait) -> InHand;

    /// Gives back an item that the thread is done with.
    ///
    /// # Safety
    /// The item came from this queue.
    unsafe fn complete(&self, item: InHand, wait: Wait);

    /// Sends `word` with the item's flow to the queue `to[way]`, and gives the item back. An ordered
    /// queue sends on in the order in which items were received.
    ///
    /// # Panics
    /// Panics if the queue was made with fewer queues to pass items on to.
    ///
    /// # Safety
    /// The item came from this queue.
    unsafe fn pass_on(&self, item: InHand, way: usize, word: u64, wait: Wait);
}

/// Largest capacity of a queue with flows.
const MOST: usize = 1 << 20;

fn check(shape: Shape) -> Result<(), FlowError> {
    if !shape.capacity.is_power_of_two() || shape.capacity > MOST {
        return Err(FlowError::Capacity(shape.capacity));
    }
    if !(1..=64).contains(&shape.window) { Err(FlowError::Window(shape.window)) } else { Ok(()) }
}
