//! The queue `qmd` whose producers wait for no answer: the enqueue stays in the store buffer, and
//! the thread goes on with its next item ([`Qmd::post`]). Whether the stores behind the enqueue
//! wait for the answer is the chip's choice (`device.younger_stores`).

use super::model::{Channel, Model, ModelInfo};
use baton_machine::{Counted, Machine, Wait};
use baton_sync::queue::qmd::Qmd;
use baton_sync::queue::{QueueError, RawQueue, Side};

/// The queue.
pub struct Posting<M: Machine>(Qmd<M, u64>);

impl<M: Machine> Model<M> for Posting<M> {
    const INFO: ModelInfo = ModelInfo {
        name: "qmd-post",
        what: "the queue device; a producer does not wait for the answers to its enqueues",
        producers: Side::Multi,
        consumers: Side::Multi,
        device: true,
        // The two requests are an instruction each.
        counted: Counted { instructions: 2.0, accesses: 2 },
        counted_bulk: None,
    };

    fn new(_: [u32; 2], capacity: usize) -> Result<Self, QueueError> {
        Qmd::with_capacity(capacity).map(Posting)
    }
}

// SAFETY: the device gives each item out once, and keeps the order of a thread's requests; an
// enqueue leaves behind the thread's older stores, and `Qmd` fences behind a dequeue. Only a
// device's timer or a guard thread drops a request that waits, and the device then counts the item
// as lost.
unsafe impl<M: Machine> Channel<M> for Posting<M> {
    unsafe fn send(&self, _: u32, items: &[u64], _: Wait) {
        items.iter().for_each(|&item| self.0.post(item));
    }

    unsafe fn receive(&self, _: u32, items: &mut [u64], wait: Wait) {
        // SAFETY: any number of threads may dequeue.
        unsafe { self.0.dequeue_all(items, wait) };
    }
}
