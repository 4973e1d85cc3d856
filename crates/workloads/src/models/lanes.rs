//! A queue of its own, `spsc`, for each pair of a producer and a consumer: no line is shared by
//! more than two threads. A producer deals its bulks out to the consumers in turn; a consumer takes
//! from its lanes in turn, as much as each lane has.
//!
//! The lanes are no queue of the registry: items of different producers come in no common order, a
//! consumer cannot take what lies in another consumer's lane, and each call says which thread makes
//! it.

use super::model::{Channel, Model, ModelInfo};
use baton_machine::{Machine, Owned, Wait};
use baton_sync::queue::spsc::Spsc;
use baton_sync::queue::{QueueError, RawQueue, Side};
use core::cell::Cell;

/// The number of the lane that a thread uses next, alone in its pair of cache lines, because one
/// thread uses it. In a real program it is in a register.
#[repr(align(128))]
struct Turn(Cell<usize>);

// SAFETY: only one producer or one consumer uses each number, by the contract of `send` and
// `receive`.
unsafe impl Sync for Turn {}

/// The lanes of all pairs.
pub struct Lanes<M: Machine> {
    /// The lanes, by producer and then by consumer.
    lanes: Vec<Vec<Owned<M, Spsc<M, u64>>>>,
    senders: Vec<Turn>,
    receivers: Vec<Turn>,
}

impl<M: Machine> Model<M> for Lanes<M> {
    const INFO: ModelInfo = ModelInfo {
        name: "lanes",
        what: "an `spsc` for each pair of a producer and a consumer",
        producers: Side::Multi,
        consumers: Side::Multi,
        device: false,
        counted: <Spsc<M, u64> as RawQueue<M>>::INFO.counted,
        counted_bulk: <Spsc<M, u64> as RawQueue<M>>::INFO.counted_bulk,
    };

    fn new([producers, consumers]: [u32; 2], capacity: usize) -> Result<Self, QueueError> {
        let lane = |_| Spsc::with_capacity(capacity).map(Owned::new);
        let row = |_| (0..consumers).map(lane).collect();
        let turns = |n: u32, of: u32| (0..n).map(|i| Turn(Cell::new((i % of.max(1)) as usize))).collect();
        Ok(Lanes {
            lanes: (0..producers).map(row).collect::<Result<_, _>>()?,
            senders: turns(producers, consumers),
            receivers: turns(consumers, producers),
        })
    }
}

// SAFETY: each lane is a queue with one producer and one consumer.
unsafe impl<M: Machine> Channel<M> for Lanes<M> {
    unsafe fn send(&self, producer: u32, items: &[u64], wait: Wait) {
        let (lanes, turn) = (&self.lanes[producer as usize], &self.senders[producer as usize].0);
        let lane = &lanes[turn.get()];
        turn.set((turn.get() + 1) % lanes.len());
        // SAFETY: only this producer enqueues into the lane.
        unsafe { lane.enqueue_all(items, wait) };
    }

    /// Between two looks at all lanes the thread relaxes, whatever the wait policy says: a thread
    /// cannot wait on several words.
    unsafe fn receive(&self, consumer: u32, items: &mut [u64], wait: Wait) {
        let turn = &self.receivers[consumer as usize].0;
        let (mut done, mut empty) = (0, 0);
        while done < items.len() {
            let lane = &self.lanes[turn.get()][consumer as usize];
            // SAFETY: only this consumer dequeues from the lane.
            let got = match unsafe { lane.dequeue_burst(&mut items[done..], wait) } {
                0 => {
                    empty += 1;
                    0
                }
                got => got,
            };
            done += got;
            if done < items.len() || got == 0 {
                turn.set((turn.get() + 1) % self.lanes.len());
            }
            if got != 0 {
                empty = 0;
            } else if empty == self.lanes.len() {
                empty = 0;
                M::relax();
            }
        }
    }

    /// Number of items that are dealt to the consumer.
    fn share(&self, consumer: u32, [producers, consumers]: [u32; 2], items: u64, bulk: u64) -> u64 {
        let (consumers, bulk) = (u64::from(consumers.max(1)), bulk.max(1));
        let dealt = |producer: u32| {
            // The number of the first bulk of a producer that the consumer gets. Every
            // `consumers`-th bulk after it is the consumer's as well.
            let first = (u64::from(consumer) + consumers - u64::from(producer) % consumers) % consumers;
            let (whole, rest) = (items / bulk, items % bulk);
            let of_whole = (whole + consumers - 1 - first) / consumers * bulk;
            of_whole + if rest != 0 && whole % consumers == first { rest } else { 0 }
        };
        (0..producers).map(dealt).sum()
    }
}
