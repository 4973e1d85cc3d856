//! Ring for many producers and consumers that moves items in bulk, as DPDK's `rte_ring` does: the software baseline of
//! the CAF paper.
//!
//! Each side has a head and a tail. A thread claims places by moving its side's head, works on them, and moves the tail
//! once those that claimed before it have moved it up to its claim. The other side reads the tail only.

use super::item::ItemSlot;
use super::{BadCapacity, BulkQueue, Counted, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine, OwnedSlice, Wait, WaitResult};

/// One side, alone in its pair of cache lines. Both counts wrap.
#[repr(C, align(128))]
struct End<M: Machine> {
    /// Places claimed.
    head: M::Atomic<u32>,
    /// Places done with, never past `head`.
    tail: M::Atomic<u32>,
}

/// What to do when less can be had than was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// All or nothing.
    Bulk,
    /// What there is.
    Burst,
}

/// Places that a thread has claimed.
struct Claim {
    first: u32,
    count: u32,
}

impl<M: Machine> End<M> {
    fn new(at: u32) -> Self {
        End { head: M::Atomic::new(at), tail: M::Atomic::new(at) }
    }

    /// Claims up to `count` places: those between our head and the other side's tail, which is `ahead` places further
    /// than it says (the capacity for producers, nothing for consumers). Returns the other's tail if there were too few.
    #[inline(always)]
    fn claim(&self, other: &End<M>, ahead: u32, count: u32, ask: Ask) -> Result<Claim, u32> {
        // Acquire: the thread that moved the head here had seen a tail of the other side; see at least that one below, or the
        // difference could be negative.
        let mut head = self.head.load(Acquire);
        loop {
            // Acquire: the other side is done with the places up to its tail.
            let tail = other.tail.load(Acquire);
            let there = ahead.wrapping_add(tail).wrapping_sub(head);
            let count = match ask {
                Ask::Bulk if there < count => 0,
                _ => count.min(there),
            };
            if count == 0 {
                return Err(tail);
            }
            // Release: hands on the tail that we have seen (see above). Acquire on failure: as the first load.
            match self.head.compare_exchange_weak(head, head.wrapping_add(count), Release, Acquire) {
                Ok(_) => return Ok(Claim { first: head, count }),
                Err(now) => head = now,
            }
        }
    }

    /// Says that a claim is done with, after those before it.
    #[inline(always)]
    fn publish(&self, claim: Claim, wait: Wait) {
        // Acquire, here and in the wait: a thread that sees our tail must see what those before us did, and only our own Release
        // store can tell it.
        let mut tail = self.tail.load(Acquire);
        while tail != claim.first {
            tail = match M::wait_while(&self.tail, tail, wait, None) {
                WaitResult::Changed(now) => now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            };
        }
        // Release: the other side uses our places only after we are done with them.
        self.tail.store(claim.first.wrapping_add(claim.count), Release);
        // All: those of our side who wait for their turn, and those of the other side who wait for something to do,
        // sleep on the same word.
        M::wake::<u32>(&self.tail, u32::MAX, wait);
    }
}

/// The ring.
pub struct Ring<M: Machine, T: Send + 'static> {
    producers: End<M>,
    consumers: End<M>,
    places: OwnedSlice<M, ItemSlot<M, T>>,
}

impl<M: Machine, T: Send + 'static> Ring<M, T> {
    /// An empty ring whose counts start at `at`, so that a test need not wait until they wrap.
    pub fn starting_at(capacity: usize, at: u32) -> Result<Self, BadCapacity> {
        check_capacity(capacity)?;
        Ok(Ring {
            producers: End::new(at),
            consumers: End::new(at),
            places: OwnedSlice::new(capacity, |_| ItemSlot::empty()),
        })
    }

    fn place(&self, count: u32) -> &ItemSlot<M, T> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    fn claim_room(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        let capacity = self.places.len() as u32;
        self.producers.claim(&self.consumers, capacity, bounded(count), ask)
    }

    fn claim_items(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        self.consumers.claim(&self.producers, 0, bounded(count), ask)
    }

    /// Takes one item, or says up to where there are none.
    fn take_one(&self, wait: Wait) -> Result<T, u32> {
        let claim = self.claim_items(1, Ask::Bulk)?;
        // SAFETY: the place is claimed, and its producer is done with it.
        let item = unsafe { self.place(claim.first).get() };
        self.consumers.publish(claim, wait);
        Ok(item)
    }

    /// Puts one item in, or gives it back with the tail up to which there is no room.
    fn put_one(&self, item: T, wait: Wait) -> Result<(), (T, u32)> {
        match self.claim_room(1, Ask::Bulk) {
            Ok(claim) => {
                // SAFETY: the place is claimed, and its consumer is done with it.
                unsafe { self.place(claim.first).put(item) };
                self.producers.publish(claim, wait);
                Ok(())
            }
            Err(tail) => Err((item, tail)),
        }
    }
}

impl<M: Machine, T: Copy + Send + 'static> Ring<M, T> {
    fn put_all(&self, items: &[T], ask: Ask, wait: Wait) -> usize {
        let Ok(claim) = self.claim_room(items.len(), ask) else { return 0 };
        for (i, &item) in (0..claim.count).zip(items) {
            // SAFETY: the place is claimed, and its consumer is done with it.
            unsafe { self.place(claim.first.wrapping_add(i)).put(item) };
        }
        let count = claim.count as usize;
        self.producers.publish(claim, wait);
        count
    }

    fn get_all(&self, items: &mut [T], ask: Ask, wait: Wait) -> usize {
        let Ok(claim) = self.claim_items(items.len(), ask) else { return 0 };
        for (i, item) in (0..claim.count).zip(items) {
            // SAFETY: the place is claimed, and its producer is done with it.
            *item = unsafe { self.place(claim.first.wrapping_add(i)).get() };
        }
        let count = claim.count as usize;
        self.consumers.publish(claim, wait);
        count
    }
}

/// A number of items as a count; more than any ring holds is as good as `u32::MAX`.
fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

// SAFETY: heads give out each place once; a place goes to the other side by a tail that is stored with Release when all
// places before it are done with, and read with Acquire.
unsafe impl<M: Machine, T: Send + 'static> RawQueue<M> for Ring<M, T> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "ring",
        what: "ring with a head and a tail a side; claims and moves items in bulk",
        source: "DPDK rte_ring (multi-producer, multi-consumer); the CAF paper's software baseline",
        limits: "a preempted thread holds up those of its side; a claim that sleeps through 2^32 others goes wrong",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: true,
        counted: Counted { instructions: 69.0, accesses: 12 },
    };

    fn with_capacity(capacity: usize) -> Result<Self, BadCapacity> {
        Self::starting_at(capacity, 0)
    }

    fn aged(capacity: usize) -> Result<Self, BadCapacity> {
        Self::starting_at(capacity, u32::MAX)
    }

    fn capacity(&self) -> usize {
        self.places.len()
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        self.put_one(item, wait).map_err(|(item, _)| item)
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        self.take_one(wait).ok()
    }

    unsafe fn enqueue(&self, mut item: T, wait: Wait) {
        while let Err((back, tail)) = self.put_one(item, wait) {
            item = back;
            let _ = M::wait_while(&self.consumers.tail, tail, wait, None);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        loop {
            match self.take_one(wait) {
                Ok(item) => return item,
                Err(tail) => {
                    let _ = M::wait_while(&self.producers.tail, tail, wait, None);
                }
            }
        }
    }
}

// SAFETY: as above; a claim is of neighbouring places.
unsafe impl<M: Machine, T: Copy + Send + 'static> BulkQueue<M> for Ring<M, T> {
    fn enqueue_bulk(&self, items: &[T], wait: Wait) -> bool {
        self.put_all(items, Ask::Bulk, wait) == items.len()
    }
    fn enqueue_burst(&self, items: &[T], wait: Wait) -> usize {
        self.put_all(items, Ask::Burst, wait)
    }
    fn dequeue_bulk(&self, items: &mut [T], wait: Wait) -> bool {
        self.get_all(items, Ask::Bulk, wait) == items.len()
    }
    fn dequeue_burst(&self, items: &mut [T], wait: Wait) -> usize {
        self.get_all(items, Ask::Burst, wait)
    }
}

impl<M: Machine, T: Send + 'static> Drop for Ring<M, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            while self.take_one(Wait::Spin).is_ok() {}
        }
    }
}
