//! The ring's mode for one producer and one consumer: algorithm 1 of the CAF paper, DPDK's SP and
//! SC. A side reads the other's tail at each claim, whereas [`spsc`](super::spsc) keeps a copy.

use super::ring::{Alone, Exactly, Ring, Threads};
use super::{Counted, CountedBulk, QueueInfo, Side};

/// The mode for one thread on each side.
#[derive(Clone, Copy, Debug)]
pub struct One;

impl Threads for One {
    const INFO: QueueInfo = QueueInfo {
        name: "ring-single",
        what: "the ring's mode for one producer and one consumer: a claim is a plain store",
        source: "DPDK rte_ring (single-producer, single-consumer); algorithm 1 of the CAF paper",
        limits: "one producer, one consumer",
        producers: Side::Single,
        consumers: Side::Single,
        bulk: false,
        device: false,
        counted: Counted { instructions: 51.0, accesses: 10 },
        counted_bulk: Some(CountedBulk { call: Counted { instructions: 203.0, accesses: 8 }, item: 1.5 }),
    };
}

impl Alone for One {}

/// A ring for one producer and one consumer.
pub type RingSingle<M, T> = Ring<M, T, One>;

/// [`RingSingle`] for any number of items.
pub type ExactRingSingle<M, T> = Ring<M, T, Exactly<One>>;
