//! Ring for many producers and consumers that moves items in bulk, as DPDK's `rte_ring` does: the software baseline of
//! the CAF paper.
//!
//! Each side has a head and a tail. A thread claims places by moving its side's head, works on them, and moves the tail
//! once those that claimed before it have moved it up to its claim. The other side reads the tail only.
//!
//! In the mode for one thread a side ([`ring_single`](super::ring_single)) a claim is a store, and no thread was before.

use super::item::ItemSlot;
use super::{BulkQueue, Counted, CountedBulk, QueueError, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, OwnedSlice, Wait, WaitResult};
use core::marker::PhantomData;

/// A mode: how many threads may be on each side.
pub trait Threads: Send + Sync + 'static {
    /// What is said of the ring in this mode; both sides allow as many threads.
    const INFO: QueueInfo;
    /// One thread a side.
    const ALONE: bool = matches!(Self::INFO.producers, Side::Single);
}

/// Any number of threads on each side.
#[derive(Clone, Copy, Debug)]
pub struct Many;

impl Threads for Many {
    const INFO: QueueInfo = QueueInfo {
        name: "ring",
        what: "ring with a head and a tail a side; claims and moves items in bulk",
        source: "DPDK rte_ring (multi-producer, multi-consumer); the CAF paper's software baseline",
        limits: "a preempted thread holds up those of its side; a claim that sleeps through 2^32 others goes wrong",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: true,
        device: false,
        counted: Counted { instructions: 69.0, accesses: 12 },
        counted_bulk: Some(CountedBulk { call: Counted { instructions: 238.0, accesses: 10 }, item: 1.5 }),
    };
}

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

    /// How many of `count` places can be had at `head`: of those up to the other side's tail, which is `ahead` places further than it
    /// says (the capacity for producers, nothing for consumers). Gives the other's tail if there are too few.
    #[inline(always)]
    fn room(other: &End<M>, ahead: u32, head: u32, count: u32, ask: Ask) -> Result<u32, u32> {
        // Acquire: the other side is done with the places up to its tail.
        let tail = other.tail.load(Acquire);
        let there = ahead.wrapping_add(tail).wrapping_sub(head);
        let count = match ask {
            Ask::Bulk if there < count => 0,
            _ => count.min(there),
        };
        if count == 0 { Err(tail) } else { Ok(count) }
    }

    /// Claims up to `count` places, as [`End::room`] has them.
    #[inline(always)]
    fn claim<S: Threads>(&self, other: &End<M>, ahead: u32, count: u32, ask: Ask) -> Result<Claim, u32> {
        if S::ALONE {
            // Relaxed, both: no other thread looks at this side's head.
            let head = self.head.load(Relaxed);
            let count = Self::room(other, ahead, head, count, ask)?;
            self.head.store(head.wrapping_add(count), Relaxed);
            return Ok(Claim { first: head, count });
        }
        // Acquire: the thread that moved the head here had seen a tail of the other side; see at least that one in `room`, or the
        // difference could be negative.
        let mut head = self.head.load(Acquire);
        loop {
            let count = Self::room(other, ahead, head, count, ask)?;
            // Release: hands on the tail that we have seen (see above). Acquire on failure: as the first load.
            match self.head.compare_exchange_weak(head, head.wrapping_add(count), Release, Acquire) {
                Ok(_) => return Ok(Claim { first: head, count }),
                Err(now) => head = now,
            }
        }
    }

    /// Says that a claim is done with, after those before it.
    #[inline(always)]
    fn publish<S: Threads>(&self, claim: Claim, wait: Wait) {
        if !S::ALONE {
            self.wait_for_turn(&claim, wait);
        }
        // Release: the other side uses our places only after we are done with them.
        self.tail.store(claim.first.wrapping_add(claim.count), Release);
        // All: those of our side who wait for their turn, and those of the other side who wait for something to do,
        // sleep on the same word.
        M::wake::<u32>(&self.tail, u32::MAX, wait);
    }

    /// Waits until those that claimed before have moved the tail up to a claim.
    #[inline(always)]
    fn wait_for_turn(&self, claim: &Claim, wait: Wait) {
        // Acquire, here and in the wait: a thread that sees our tail must see what those before us did, and only our own Release
        // store can tell it.
        let mut tail = self.tail.load(Acquire);
        while tail != claim.first {
            tail = match M::wait_while(&self.tail, tail, wait, None) {
                WaitResult::Changed(now) => now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            };
        }
    }
}

/// The ring.
pub struct Ring<M: Machine, T: Send + 'static, S: Threads = Many> {
    producers: End<M>,
    consumers: End<M>,
    places: OwnedSlice<M, ItemSlot<M, T>>,
    mode: PhantomData<fn() -> S>,
}

impl<M: Machine, T: Send + 'static> Ring<M, T> {
    /// An empty ring whose counts start at `at`, so that a test need not wait until they wrap.
    ///
    /// # Errors
    /// The capacity.
    pub fn starting_at(capacity: usize, at: u32) -> Result<Self, QueueError> {
        Self::at(capacity, at)
    }
}

impl<M: Machine, T: Send + 'static, S: Threads> Ring<M, T, S> {
    fn at(capacity: usize, at: u32) -> Result<Self, QueueError> {
        check_capacity(capacity)?;
        Ok(Ring {
            producers: End::new(at),
            consumers: End::new(at),
            places: OwnedSlice::new(capacity, |_| ItemSlot::empty()),
            mode: PhantomData,
        })
    }

    fn place(&self, count: u32) -> &ItemSlot<M, T> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    #[inline]
    fn claim_room(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        let capacity = self.places.len() as u32;
        self.producers.claim::<S>(&self.consumers, capacity, bounded(count), ask)
    }

    #[inline]
    fn claim_items(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        self.consumers.claim::<S>(&self.producers, 0, bounded(count), ask)
    }

    /// Takes one item, or says up to where there are none.
    #[inline]
    fn take_one(&self, wait: Wait) -> Result<T, u32> {
        let claim = self.claim_items(1, Ask::Bulk)?;
        // SAFETY: the place is claimed, and its producer is done with it.
        let item = unsafe { self.place(claim.first).get() };
        self.consumers.publish::<S>(claim, wait);
        Ok(item)
    }

    /// Puts one item in, or gives it back with the tail up to which there is no room.
    #[inline]
    fn put_one(&self, item: T, wait: Wait) -> Result<(), (T, u32)> {
        match self.claim_room(1, Ask::Bulk) {
            Ok(claim) => {
                // SAFETY: the place is claimed, and its consumer is done with it.
                unsafe { self.place(claim.first).put(item) };
                self.producers.publish::<S>(claim, wait);
                Ok(())
            }
            Err(tail) => Err((item, tail)),
        }
    }
}

impl<M: Machine, T: Copy + Send + 'static, S: Threads> Ring<M, T, S> {
    /// How many were put in, or the tail up to which there is no room.
    fn put_all(&self, items: &[T], ask: Ask, wait: Wait) -> Result<usize, u32> {
        let claim = self.claim_room(items.len(), ask)?;
        let count = claim.count as usize;
        // SAFETY: the places are claimed, and their consumers are done with them.
        unsafe { ItemSlot::put_row(&self.places, claim.first, &items[..count]) };
        self.producers.publish::<S>(claim, wait);
        Ok(count)
    }

    /// How many were got, or the tail up to which there are none.
    fn get_all(&self, items: &mut [T], ask: Ask, wait: Wait) -> Result<usize, u32> {
        let claim = self.claim_items(items.len(), ask)?;
        let count = claim.count as usize;
        // SAFETY: the places are claimed, and their producers are done with them.
        unsafe { ItemSlot::get_row(&self.places, claim.first, &mut items[..count]) };
        self.consumers.publish::<S>(claim, wait);
        Ok(count)
    }

    /// Items that are moved at once by those who wait until they can: half of the places. With more, one that waits for room and
    /// one that waits for items could wait for each other.
    fn at_once(&self) -> usize {
        (self.places.len() / 2).max(1)
    }
}

/// A number of items as a count; more than any ring holds is as good as `u32::MAX`.
fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

// SAFETY: heads give out each place once, to as many threads as the mode allows; a place goes to the other side by a tail that is
// stored with Release when all places before it are done with, and read with Acquire.
unsafe impl<M: Machine, T: Send + 'static, S: Threads> RawQueue<M> for Ring<M, T, S> {
    type Item = T;
    const INFO: QueueInfo = S::INFO;

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        Self::at(capacity, 0)
    }

    fn aged(capacity: usize) -> Result<Self, QueueError> {
        Self::at(capacity, u32::MAX)
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

    #[inline]
    unsafe fn enqueue(&self, mut item: T, wait: Wait) {
        while let Err((back, tail)) = self.put_one(item, wait) {
            item = back;
            let _ = M::wait_while(&self.consumers.tail, tail, wait, None);
        }
    }

    #[inline]
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

    unsafe fn enqueue_all(&self, items: &[T], wait: Wait)
    where
        T: Copy,
    {
        if let [item] = items {
            // SAFETY: by contract.
            return unsafe { self.enqueue(*item, wait) };
        }
        let mut left = items;
        while !left.is_empty() {
            let (some, behind) = left.split_at(left.len().min(self.at_once()));
            while let Err(tail) = self.put_all(some, Ask::Bulk, wait) {
                let _ = M::wait_while(&self.consumers.tail, tail, wait, None);
            }
            left = behind;
        }
    }

    unsafe fn dequeue_all(&self, items: &mut [T], wait: Wait)
    where
        T: Copy,
    {
        if let [item] = items {
            // SAFETY: by contract.
            *item = unsafe { self.dequeue(wait) };
            return;
        }
        let mut left = items;
        while !left.is_empty() {
            let (some, behind) = left.split_at_mut(left.len().min(self.at_once()));
            while let Err(tail) = self.get_all(some, Ask::Bulk, wait) {
                let _ = M::wait_while(&self.producers.tail, tail, wait, None);
            }
            left = behind;
        }
    }
}

// SAFETY: as above, for any number of threads; a claim is of neighbouring places.
unsafe impl<M: Machine, T: Copy + Send + 'static> BulkQueue<M> for Ring<M, T> {
    fn enqueue_bulk(&self, items: &[T], wait: Wait) -> bool {
        self.put_all(items, Ask::Bulk, wait).unwrap_or(0) == items.len()
    }
    fn enqueue_burst(&self, items: &[T], wait: Wait) -> usize {
        self.put_all(items, Ask::Burst, wait).unwrap_or(0)
    }
    fn dequeue_bulk(&self, items: &mut [T], wait: Wait) -> bool {
        self.get_all(items, Ask::Bulk, wait).unwrap_or(0) == items.len()
    }
    fn dequeue_burst(&self, items: &mut [T], wait: Wait) -> usize {
        self.get_all(items, Ask::Burst, wait).unwrap_or(0)
    }
}

impl<M: Machine, T: Send + 'static, S: Threads> Drop for Ring<M, T, S> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            while self.take_one(Wait::Spin).is_ok() {}
        }
    }
}
