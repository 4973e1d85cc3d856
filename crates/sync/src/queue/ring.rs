//! Ring for many producers and consumers that moves items in bulk like DPDK's `rte_ring`, the
//! software baseline of the CAF paper.
//!
//! Each side has a head and a tail. A thread claims places by advancing its side's head, uses them,
//! and advances the tail after the threads that claimed before it have advanced it up to its claim.
//! The other side reads only the tail.
//!
//! In the mode for one thread on each side ([`ring_single`](super::ring_single)) a claim is a
//! store, and there are no earlier claims to wait for.

use super::item::ItemSlot;
use super::lend::{Lends, Places};
use super::{
    BadBound, BulkQueue, Counted, CountedBulk, ExactQueue, QueueError, QueueInfo, RawQueue, Side, check_capacity,
    places_for,
};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::units::Nanos;
use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Atomic, Clock, Deadline, Machine, OwnedSlice, Wait, WaitResult};
use core::marker::PhantomData;

/// A mode: how many threads may use each side.
pub trait Threads: Send + Sync + 'static {
    /// Description of the ring in this mode; both sides allow the same number of threads.
    const INFO: QueueInfo;
    /// Whether only one thread may use each side.
    const ALONE: bool = matches!(Self::INFO.producers, Side::Single);
    /// Whether the ring may have more places than it holds items.
    const EXACT: bool = false;
}

/// Any number of threads on each side.
#[derive(Clone, Copy, Debug)]
pub struct Many;

impl Threads for Many {
    const INFO: QueueInfo = QueueInfo {
        name: "ring",
        what: "ring with a head and a tail for each side; claims and moves items in bulk",
        source: "DPDK rte_ring (multi-producer, multi-consumer); the CAF paper's software baseline",
        limits: "a preempted thread holds up those of its side; a claim that sleeps through 2^32 others goes wrong",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: true,
        device: false,
        counted: Counted { instructions: 69.0, accesses: 12 },
        counted_bulk: Some(CountedBulk { call: Counted { instructions: 221.0, accesses: 10 }, item: 1.5 }),
    };
}

/// The mode `S` for any number of items, of which no power of two need be.
#[derive(Clone, Copy, Debug)]
pub struct Exactly<S>(PhantomData<S>);

impl<S: Threads> Threads for Exactly<S> {
    const INFO: QueueInfo = S::INFO;
    const EXACT: bool = true;
}

impl<S: Alone> Alone for Exactly<S> {}

/// A ring for any number of items, with as many places as the next power of two.
pub type ExactRing<M, T> = Ring<M, T, Exactly<Many>>;

/// A mode for one thread on each side, which has its side's next places to itself until it claims them.
pub trait Alone: Threads {}

/// One side of the ring, alone in its pair of cache lines. Both counts wrap.
#[repr(C, align(128))]
struct End<M: Machine> {
    /// Number of places claimed.
    head: M::Atomic<u32>,
    /// Number of places finished, never more than `head`.
    tail: M::Atomic<u32>,
}

/// What to do if fewer places or items are available than requested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// Take all or nothing.
    Bulk,
    /// Take what is available.
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

    /// Returns how many of `count` places are available at `head`: those up to the other side's
    /// tail plus `ahead` (the capacity for producers, 0 for consumers). The error is the other
    /// side's tail, if too few are available.
    #[inline(always)]
    fn room(other: &End<M>, ahead: u32, head: u32, count: u32, ask: Ask) -> Result<u32, u32> {
        // Acquire: the other side has finished with the places up to its tail.
        let tail = other.tail.load(Acquire);
        let there = ahead.wrapping_add(tail).wrapping_sub(head);
        let count = match ask {
            Ask::Bulk if there < count => 0,
            _ => count.min(there),
        };
        if count == 0 { Err(tail) } else { Ok(count) }
    }

    /// Claims up to `count` places, as many as [`End::room`] grants.
    #[inline(always)]
    fn claim<S: Threads>(&self, other: &End<M>, ahead: u32, count: u32, ask: Ask) -> Result<Claim, u32> {
        if S::ALONE {
            // Relaxed for both: no other thread reads this side's head.
            let head = self.head.load(Relaxed);
            let count = Self::room(other, ahead, head, count, ask)?;
            self.head.store(head.wrapping_add(count), Relaxed);
            return Ok(Claim { first: head, count });
        }
        // Acquire: the thread that advanced the head to this value had seen a tail of the other
        // side. `room` must see at least that one, or the difference could be negative.
        let mut head = self.head.load(Acquire);
        loop {
            let count = Self::room(other, ahead, head, count, ask)?;
            // Release: passes on the tail that this thread has seen. Acquire on failure, like the
            // first load.
            match self.head.compare_exchange_weak(head, head.wrapping_add(count), Release, Acquire) {
                Ok(_) => return Ok(Claim { first: head, count }),
                Err(now) => head = now,
            }
        }
    }

    /// Marks a claim as finished, after all earlier claims.
    #[inline(always)]
    fn publish<S: Threads>(&self, claim: Claim, wait: Wait) {
        if S::EXACT && !S::ALONE && !wait.parks() {
            // Acquire, as in `wait_for_turn`.
            if self.tail.load(Acquire) != claim.first {
                self.nap_for_turn(&claim);
            }
        } else if !S::ALONE {
            self.wait_for_turn(&claim, wait);
        }
        // Release: the other side uses the places only after this thread has finished with them.
        self.tail.store(claim.first.wrapping_add(claim.count), Release);
        // Wakes all: threads of this side that wait for their turn, and threads of the other side
        // that wait for places, sleep on the same word.
        M::wake::<u32>(&self.tail, u32::MAX, wait);
    }

    /// Returns the places that a claim would get, up to `most`, for the only thread of this side.
    #[inline(always)]
    fn next<'a, T: Send>(
        &self,
        other: &End<M>,
        ahead: u32,
        most: usize,
        places: &'a [ItemSlot<M, T>],
    ) -> Places<'a, M, T> {
        // Relaxed: no other thread writes this side's head.
        let head = self.head.load(Relaxed);
        let count = Self::room(other, ahead, head, bounded(most), Ask::Burst).unwrap_or(0);
        Places::of_ring(places, head, count as usize)
    }

    /// Claims places that this thread has finished with, and passes them to the other side.
    #[inline(always)]
    fn pass<S: Alone>(&self, count: usize, wait: Wait) {
        // Relaxed for both: as in `next`.
        let first = self.head.load(Relaxed);
        self.head.store(first.wrapping_add(count as u32), Relaxed);
        self.publish::<S>(Claim { first, count: count as u32 }, wait);
    }

    /// Waits until the threads that claimed before have advanced the tail up to this claim.
    #[inline(always)]
    fn wait_for_turn(&self, claim: &Claim, wait: Wait) {
        // Acquire, here and in the wait: a thread that sees this thread's tail must also see what
        // the earlier threads did, and only this thread's Release store can convey that.
        let mut tail = self.tail.load(Acquire);
        while tail != claim.first {
            tail = match M::wait_while(&self.tail, tail, wait, None) {
                WaitResult::Changed(now) => now,
                WaitResult::Expired => unreachable!("no deadline was given"),
            };
        }
    }

    /// The same for rings of programs ([`ExactRing`]), which are called with a policy that only tries.
    /// The thread whose turn it is may have no CPU, though: threads that only tried would keep that
    /// thread off the CPUs for a time slice, for each item. These threads sleep between tries, for
    /// [`NAP`] at a time, as no thread wakes them.
    #[cold]
    fn nap_for_turn(&self, claim: &Claim) {
        // Acquire, as in `wait_for_turn`.
        let mut tail = self.tail.load(Acquire);
        while tail != claim.first {
            let clock = Clock::Monotonic;
            let deadline = Deadline { clock, at: M::now(clock) + NAP };
            let _ = M::wait_while(&self.tail, tail, Wait::SpinPark(SPIN_TRIES), Some(deadline));
            tail = self.tail.load(Acquire);
        }
    }
}

/// How long a thread sleeps between its tries, if the thread whose turn it is may have no CPU.
const NAP: Nanos = Nanos(50_000);

/// A ring of places for items, in one of the modes.
pub struct Ring<M: Machine, T: Send + 'static, S: Threads = Many> {
    producers: End<M>,
    consumers: End<M>,
    /// Most items at a time, with [`Threads::EXACT`]; there may be more places.
    capacity: u32,
    places: OwnedSlice<M, ItemSlot<M, T>>,
    mode: PhantomData<fn() -> S>,
}

impl<M: Machine, T: Send + 'static> Ring<M, T> {
    /// Creates an empty ring whose counts start at `at`, so that a test need not wait until they
    /// wrap.
    ///
    /// # Errors
    /// Fails if the capacity is not allowed.
    pub fn starting_at(capacity: usize, at: u32) -> Result<Self, QueueError> {
        Self::at(capacity, at)
    }
}

impl<M: Machine, T: Send + 'static, S: Threads> Ring<M, T, S> {
    fn at(capacity: usize, at: u32) -> Result<Self, QueueError> {
        Ok(Self::with_places(capacity, check_capacity(capacity)?, at))
    }

    fn with_places(places: usize, capacity: u32, at: u32) -> Self {
        Ring {
            producers: End::new(at),
            consumers: End::new(at),
            capacity,
            places: OwnedSlice::new(places, |_| ItemSlot::empty()),
            mode: PhantomData,
        }
    }

    /// Most items at a time.
    #[inline(always)]
    fn most(&self) -> u32 {
        if S::EXACT { self.capacity } else { self.places.len() as u32 }
    }

    fn place(&self, count: u32) -> &ItemSlot<M, T> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    #[inline]
    fn claim_room(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        self.producers.claim::<S>(&self.consumers, self.most(), bounded(count), ask)
    }

    #[inline]
    fn claim_items(&self, count: usize, ask: Ask) -> Result<Claim, u32> {
        self.consumers.claim::<S>(&self.producers, 0, bounded(count), ask)
    }

    /// Takes one item. The error is the producers' tail, at which there is none.
    #[inline]
    fn take_one(&self, wait: Wait) -> Result<T, u32> {
        let claim = self.claim_items(1, Ask::Bulk)?;
        // SAFETY: the place is claimed, and its producer has finished with it.
        let item = unsafe { self.place(claim.first).get() };
        self.consumers.publish::<S>(claim, wait);
        Ok(item)
    }

    /// Puts one item in. The error is the item and the consumers' tail, at which there is no room.
    #[inline]
    fn put_one(&self, item: T, wait: Wait) -> Result<(), (T, u32)> {
        match self.claim_room(1, Ask::Bulk) {
            Ok(claim) => {
                // SAFETY: the place is claimed, and its consumer has finished with it.
                unsafe { self.place(claim.first).put(item) };
                self.producers.publish::<S>(claim, wait);
                Ok(())
            }
            Err(tail) => Err((item, tail)),
        }
    }
}

impl<M: Machine, T: Copy + Send + 'static, S: Threads> Ring<M, T, S> {
    /// Puts items in and returns how many. The error is the consumers' tail, at which there is no
    /// room, or with [`Ask::Bulk`] too little.
    fn put_all(&self, items: &[T], ask: Ask, wait: Wait) -> Result<usize, u32> {
        let claim = self.claim_room(items.len(), ask)?;
        let count = claim.count as usize;
        // SAFETY: the places are claimed, and their consumers have finished with them.
        unsafe { ItemSlot::put_row(&self.places, claim.first, &items[..count]) };
        self.producers.publish::<S>(claim, wait);
        Ok(count)
    }

    /// Takes items out and returns how many. The error is the producers' tail, at which there are
    /// none, or with [`Ask::Bulk`] too few.
    fn get_all(&self, items: &mut [T], ask: Ask, wait: Wait) -> Result<usize, u32> {
        let claim = self.claim_items(items.len(), ask)?;
        let count = claim.count as usize;
        // SAFETY: the places are claimed, and their producers have finished with them.
        unsafe { ItemSlot::get_row(&self.places, claim.first, &mut items[..count]) };
        self.consumers.publish::<S>(claim, wait);
        Ok(count)
    }

    /// Most items that a waiting call moves at once: half of the capacity, but at least 1. With more,
    /// a thread that waits for room and one that waits for items could wait for each other.
    fn at_once(&self) -> usize {
        (self.most() as usize / 2).max(1)
    }
}

/// Limits a number of items to a count; no ring holds more than `u32::MAX` anyway.
fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

// SAFETY: heads give out each place once, to as many threads as the mode allows. A place passes to
// the other side by a tail that is stored with Release when all places before it are finished, and
// read with Acquire.
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
        self.most() as usize
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
            // SAFETY: guaranteed by the caller.
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
            // SAFETY: guaranteed by the caller.
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

// SAFETY: a claim leaves no more than `most` places between the consumers' tail and the producers' head.
unsafe impl<M: Machine, T: Send + 'static, S: Threads> ExactQueue<M> for Ring<M, T, Exactly<S>> {
    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        Ok(Self::with_places(places_for(capacity)?, capacity as u32, 0))
    }

    fn len(&self) -> usize {
        // Relaxed for both: no item is accessed. A head of the producers that is behind that of the
        // consumers is an old one, and more items than there are places may pass between the two reads.
        let taken = self.consumers.head.load(Relaxed);
        let there = self.producers.head.load(Relaxed).wrapping_sub(taken) as i32;
        (there.max(0) as usize).min(self.capacity())
    }

    unsafe fn put_some(&self, items: &[T], wait: Wait) -> usize
    where
        T: Copy,
    {
        self.put_all(items, Ask::Burst, wait).unwrap_or(0)
    }

    unsafe fn take_some(&self, items: &mut [T], wait: Wait) -> usize
    where
        T: Copy,
    {
        self.get_all(items, Ask::Burst, wait).unwrap_or(0)
    }
}

// SAFETY: like `RawQueue`, for any number of threads; a claim consists of neighbouring places.
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

// SAFETY: the places are claimed only when they are committed or released. Until then no other thread
// uses them: their side has no other one, and the other side's tail has passed them.
unsafe impl<M: Machine, T: Send + 'static, S: Alone> Lends<M> for Ring<M, T, S> {
    #[inline]
    unsafe fn reserve(&self, most: usize) -> Places<'_, M, T> {
        self.producers.next(&self.consumers, self.most(), most, &self.places)
    }

    #[inline]
    unsafe fn commit(&self, count: usize, wait: Wait) {
        self.producers.pass::<S>(count, wait);
    }

    #[inline]
    unsafe fn peek(&self, most: usize) -> Places<'_, M, T> {
        self.consumers.next(&self.producers, 0, most, &self.places)
    }

    #[inline]
    unsafe fn release(&self, count: usize, wait: Wait) {
        self.consumers.pass::<S>(count, wait);
    }
}

impl<M: Machine, T: Send + 'static, S: Threads> Drop for Ring<M, T, S> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            while self.take_one(Wait::Spin).is_ok() {}
        }
    }
}

#[cfg(test)]
mod tests;
