//! HAQu (Lee and others, HPCA 2011) as the CAF paper describes HAQu in sections 2 and 4.2; HAQu's
//! own paper is not at hand. Items, head and tail lie in shared memory, an enqueue and a dequeue
//! are an instruction each, and each core keeps the state of the queue to itself: its own count,
//! and the other side's count as the core last saw it. One producer, one consumer.
//!
//! What an instruction does: where the core's copy shows no room (no item), the instruction loads
//! the other side's count; it stores (loads) the item at an address that the core knows; it stores
//! its own count. Instructions that follow each other are independent, so that the loads of a bulk
//! overlap and the stores of the count coalesce: both assumptions favour HAQu.

use super::model::{Channel, Model, ModelInfo};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Counted, CountedBulk, Machine, OwnedSlice, Slot, Wait};
use baton_sync::queue::ring_single::RingSingle;
use baton_sync::queue::{QueueError, RawQueue, Side};
use core::cell::Cell;

/// What a core keeps of the queue, outside of the machine's memory.
#[repr(align(128))]
#[derive(Default)]
struct CoreQueue {
    own: Cell<u32>,
    other: Cell<u32>,
}

/// A count in shared memory, alone in its pair of cache lines.
#[repr(C, align(128))]
struct Count<M: Machine>(M::Atomic<u32>);

/// A queue in the form of HAQu.
pub struct Haqu<M: Machine> {
    /// The count of each side: the number of items that the side has moved.
    counts: OwnedSlice<M, Count<M>>,
    states: [CoreQueue; 2],
    places: OwnedSlice<M, M::Slot<u64>>,
}

// SAFETY: each state belongs to one side, which is one thread; places are handed over by counts.
unsafe impl<M: Machine> Sync for Haqu<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Haqu<M> {}

const PRODUCER: usize = 0;
const CONSUMER: usize = 1;

impl<M: Machine> Haqu<M> {
    /// The next places that a side may use: free ones for the producer, filled ones for the
    /// consumer. They are neighbours, and at most `count`; the call waits until there is one.
    /// Returns the side's own count and the places.
    fn next(&self, side: usize, count: usize, wait: Wait) -> (u32, &[M::Slot<u64>]) {
        let (state, other) = (&self.states[side], &self.counts[1 - side].0);
        let ahead = if side == PRODUCER { self.places.len() as u32 } else { 0 };
        let own = state.own.get();
        let there = || ahead.wrapping_add(state.other.get()).wrapping_sub(own);
        while there() == 0 {
            // Acquire: the other side is done with the places up to its count.
            let seen = other.load(Acquire);
            state.other.set(seen);
            if there() == 0 {
                let _ = M::wait_while(other, seen, wait, None);
            }
        }
        let begin = own as usize & (self.places.len() - 1);
        let most = count.min(there() as usize).min(self.places.len() - begin);
        (own, &self.places[begin..begin + most])
    }

    /// Publishes that the side is done with the places up to `own`.
    fn publish(&self, side: usize, own: u32, wait: Wait) {
        self.states[side].own.set(own);
        // Release: the other side uses the places after we are done with them.
        self.counts[side].0.store(own, Release);
        M::wake::<u32>(&self.counts[side].0, 1, wait);
    }
}

impl<M: Machine> Model<M> for Haqu<M> {
    const INFO: ModelInfo = ModelInfo {
        name: "haqu",
        what: "HAQu as the CAF paper tells of it: queue state in the core, counts and items in shared memory",
        producers: Side::Single,
        consumers: Side::Single,
        device: false,
        // An enqueue and a dequeue are one instruction each. Each of them makes three accesses,
        // which count as instructions here.
        counted: Counted { instructions: 6.0, accesses: 6 },
        counted_bulk: Some(CountedBulk { call: Counted { instructions: 4.0, accesses: 4 }, item: 2.0 }),
    };

    fn new(_: [u32; 2], capacity: usize) -> Result<Self, QueueError> {
        // A ring is made only for its check of the capacity, and dropped.
        drop(RingSingle::<M, u64>::with_capacity(capacity)?);
        Ok(Haqu {
            counts: OwnedSlice::new(2, |_| Count(M::Atomic::new(0))),
            states: Default::default(),
            places: OwnedSlice::new(capacity, |_| M::Slot::new(0)),
        })
    }
}

// SAFETY: a place is the consumer's from its count up to the producer's, and otherwise the
// producer's; counts are stored with Release and loaded with Acquire.
unsafe impl<M: Machine> Channel<M> for Haqu<M> {
    unsafe fn send(&self, _: u32, mut items: &[u64], wait: Wait) {
        while !items.is_empty() {
            let (own, places) = self.next(PRODUCER, items.len(), wait);
            let (some, behind) = items.split_at(places.len());
            // SAFETY: the places are the producer's until it publishes them.
            unsafe { Slot::write_row(places, some.as_ptr()) };
            self.publish(PRODUCER, own.wrapping_add(places.len() as u32), wait);
            items = behind;
        }
    }

    unsafe fn receive(&self, _: u32, items: &mut [u64], wait: Wait) {
        let mut done = 0;
        while done < items.len() {
            let (own, places) = self.next(CONSUMER, items.len() - done, wait);
            // SAFETY: the places are the consumer's until it publishes them.
            unsafe { Slot::take_row(places, items[done..].as_mut_ptr()) };
            self.publish(CONSUMER, own.wrapping_add(places.len() as u32), wait);
            done += places.len();
        }
    }
}
