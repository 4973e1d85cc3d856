//! The ring of many producers and consumers in the critical section of the CAF paper's footnote 1:
//! its authors had no atomic instructions in their simulator, and moved a head in a section that a
//! magic instruction guards. Entering and leaving the section cost nothing here. A thread that
//! comes while the section is taken enters within four cycles after the section is left, in the
//! order of arrival. What a thread does inside costs what it costs: the loads of the head and of
//! the other side's tail, and the store of the head. The section need not wait until that store has
//! left the store buffer: the section hands the head on by itself, and only the head's line
//! travels.

use super::model::{Channel, Model, ModelInfo};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Counted, CountedBulk, Machine, OwnedSlice, Slot, Wait};
use baton_sync::queue::ring_single::RingSingle;
use baton_sync::queue::{QueueError, RawQueue, Side};

/// A section that costs nothing: a ticket lock of the host, which is not in the machine's memory.
#[allow(clippy::disallowed_types, reason = "the simulated machine must not see it")]
#[derive(Default)]
struct Magic {
    next: std::sync::atomic::AtomicU32,
    serving: std::sync::atomic::AtomicU32,
    head: std::sync::atomic::AtomicU32,
}

impl Magic {
    /// Calls `f` with the head, and keeps the head that `f` returns. Returns the head that was
    /// there before, or the error of `f`.
    fn inside<M: Machine>(&self, f: impl FnOnce(u32) -> Result<u32, u32>) -> Result<u32, u32> {
        let mine = self.next.fetch_add(1, Relaxed);
        while self.serving.load(Acquire) != mine {
            M::work(Cycles(4));
        }
        // Relaxed, both accesses: the section orders them.
        let head = self.head.load(Relaxed);
        let result = f(head);
        if let Ok(new) = result {
            self.head.store(new, Relaxed);
        }
        self.serving.store(mine.wrapping_add(1), Release);
        result.map(|_| head)
    }
}

/// The head and the tail of one side, the producers or the consumers.
#[repr(C, align(128))]
struct End<M: Machine> {
    head: M::Atomic<u32>,
    tail: M::Atomic<u32>,
}

impl<M: Machine> End<M> {
    fn new() -> Self {
        End { head: M::Atomic::new(0), tail: M::Atomic::new(0) }
    }
}

/// The ring. Its heads and tails lie in the machine's memory; the guards of its sections do not.
pub struct FreeRing<M: Machine> {
    ends: OwnedSlice<M, End<M>>,
    guards: [Magic; 2],
    places: OwnedSlice<M, M::Slot<u64>>,
}

// SAFETY: places are handed over by heads and tails, as in the ring.
unsafe impl<M: Machine> Sync for FreeRing<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for FreeRing<M> {}

const PRODUCERS: usize = 0;
const CONSUMERS: usize = 1;

impl<M: Machine> FreeRing<M> {
    /// Claims `count` places for a side, and waits until there are that many. Returns the first
    /// place.
    fn claim(&self, side: usize, count: u32, wait: Wait) -> u32 {
        let (own, other) = (&self.ends[side], &self.ends[1 - side]);
        let ahead = if side == PRODUCERS { self.places.len() as u32 } else { 0 };
        loop {
            let claimed = self.guards[side].inside::<M>(|head| {
                // The value is not needed: the load makes the head's line travel, as the module's
                // text says.
                own.head.load(Relaxed);
                // Acquire: the other side is done with the places up to its tail.
                let tail = other.tail.load(Acquire);
                if ahead.wrapping_add(tail).wrapping_sub(head) < count {
                    return Err(tail);
                }
                own.head.store(head.wrapping_add(count), Relaxed);
                Ok(head.wrapping_add(count))
            });
            match claimed {
                Ok(first) => return first,
                Err(tail) => _ = M::wait_while(&other.tail, tail, wait, None),
            }
        }
    }

    /// Publishes a claim: says that the side is done with the claimed places, once the claims
    /// before it are published.
    fn publish(&self, side: usize, first: u32, count: u32, wait: Wait) {
        let own = &self.ends[side];
        // Acquire: a thread that sees this tail must see what the threads of the claims before did.
        let mut tail = own.tail.load(Acquire);
        while tail != first {
            let _ = M::wait_while(&own.tail, tail, wait, None);
            tail = own.tail.load(Acquire);
        }
        own.tail.store(first.wrapping_add(count), Release);
        M::wake::<u32>(&own.tail, u32::MAX, wait);
    }

    /// Neighbouring places, which may wrap: their two parts.
    fn row(&self, first: u32, count: usize) -> [&[M::Slot<u64>]; 2] {
        let begin = first as usize & (self.places.len() - 1);
        let before = count.min(self.places.len() - begin);
        [&self.places[begin..begin + before], &self.places[..count - before]]
    }

    /// The largest bulk: with larger ones, both sides could wait for each other, as in the ring.
    fn at_once(&self) -> usize {
        (self.places.len() / 2).max(1)
    }
}

impl<M: Machine> Model<M> for FreeRing<M> {
    const INFO: ModelInfo = ModelInfo {
        name: "free-ring",
        what: "the ring with heads that move in critical sections which cost nothing (footnote 1 of the CAF paper)",
        producers: Side::Multi,
        consumers: Side::Multi,
        device: false,
        // The accesses of the ring's algorithm 1, and on each side a load of the side's own tail.
        counted: Counted { accesses: 12, ..<RingSingle<M, u64> as RawQueue<M>>::INFO.counted },
        counted_bulk: match <RingSingle<M, u64> as RawQueue<M>>::INFO.counted_bulk {
            Some(bulk) => Some(CountedBulk { call: Counted { accesses: 10, ..bulk.call }, ..bulk }),
            None => None,
        },
    };

    fn new(_: [u32; 2], capacity: usize) -> Result<Self, QueueError> {
        // A ring is made only for its check of the capacity, and dropped.
        drop(RingSingle::<M, u64>::with_capacity(capacity)?);
        Ok(FreeRing {
            ends: OwnedSlice::new(2, |_| End::new()),
            guards: Default::default(),
            places: OwnedSlice::new(capacity, |_| M::Slot::new(0)),
        })
    }
}

// SAFETY: a head moves in one thread at a time, so places are given out once; tails hand them over
// as in the ring.
unsafe impl<M: Machine> Channel<M> for FreeRing<M> {
    unsafe fn send(&self, _: u32, items: &[u64], wait: Wait) {
        for some in items.chunks(self.at_once()) {
            let first = self.claim(PRODUCERS, some.len() as u32, wait);
            let [behind, begin] = self.row(first, some.len());
            // SAFETY: the places are claimed, and their consumers are done with them.
            unsafe {
                Slot::write_row(behind, some.as_ptr());
                Slot::write_row(begin, some[behind.len()..].as_ptr());
            }
            self.publish(PRODUCERS, first, some.len() as u32, wait);
        }
    }

    unsafe fn receive(&self, _: u32, items: &mut [u64], wait: Wait) {
        for some in items.chunks_mut(self.at_once()) {
            let first = self.claim(CONSUMERS, some.len() as u32, wait);
            let [behind, begin] = self.row(first, some.len());
            // SAFETY: the places are claimed, and their producers are done with them.
            unsafe {
                Slot::take_row(behind, some.as_mut_ptr());
                Slot::take_row(begin, some[behind.len()..].as_mut_ptr());
            }
            self.publish(CONSUMERS, first, some.len() as u32, wait);
        }
    }
}
