//! Ring for one producer and one consumer (Lamport). Each side keeps a copy of the other's count,
//! so that it reads the other's line only when the copy shows too little room or too few items.

use super::item::ItemSlot;
use super::lend::{Lends, Places};
use super::{
    BadBound, Counted, CountedBulk, ExactQueue, QueueError, QueueInfo, RawQueue, Side, check_capacity, places_for,
};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, OwnedSlice, Wait};

/// One side, alone in its pair of cache lines.
#[repr(C, align(128))]
struct End<M: Machine> {
    /// Number of items that passed this side, wrapping. This side writes it, the other reads it.
    count: M::Atomic<u32>,
    /// The other side's count as this side last saw it. Only this side accesses it.
    seen: M::Atomic<u32>,
}

impl<M: Machine> End<M> {
    fn new(at: u32) -> Self {
        End { count: M::Atomic::new(at), seen: M::Atomic::new(at) }
    }
}

/// A ring for one producer and one consumer.
pub struct Spsc<M: Machine, T: Send + 'static> {
    tail: End<M>,
    head: End<M>,
    places: OwnedSlice<M, ItemSlot<M, T>>,
}

impl<M: Machine, T: Send + 'static> Spsc<M, T> {
    fn starting_at(capacity: usize, at: u32) -> Result<Self, QueueError> {
        check_capacity(capacity)?;
        Ok(Spsc { tail: End::new(at), head: End::new(at), places: OwnedSlice::new(capacity, |_| ItemSlot::empty()) })
    }

    fn place(&self, count: u32) -> &ItemSlot<M, T> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    /// Returns the number of free places at `tail`. Reads the consumer's count only if the last
    /// known number is less than `wanted`.
    #[inline(always)]
    fn room(&self, tail: u32, wanted: usize) -> usize {
        let free = |head: u32| self.places.len() - tail.wrapping_sub(head) as usize;
        // Relaxed for both: only this side accesses them.
        let before = free(self.tail.seen.load(Relaxed));
        if before >= wanted {
            return before;
        }
        // Acquire: the consumer has taken the items out of the places that this side will use.
        let head = self.head.count.load(Acquire);
        self.tail.seen.store(head, Relaxed);
        free(head)
    }

    /// Returns the number of items at `head`. Reads the producer's count only if the last known
    /// number is less than `wanted`.
    #[inline(always)]
    fn items(&self, head: u32, wanted: usize) -> usize {
        let there = |tail: u32| tail.wrapping_sub(head) as usize;
        // Relaxed for both: only this side accesses them.
        let before = there(self.head.seen.load(Relaxed));
        if before >= wanted {
            return before;
        }
        // Acquire: see the items that the producer has put in.
        let tail = self.tail.count.load(Acquire);
        self.head.seen.store(tail, Relaxed);
        there(tail)
    }
}

impl<M: Machine, T: Copy + Send + 'static> Spsc<M, T> {
    /// Enqueues the first of `items`, as many as there is room for. Returns how many.
    ///
    /// # Safety
    /// The caller is the only producer.
    pub unsafe fn enqueue_burst(&self, items: &[T], wait: Wait) -> usize {
        // Relaxed: only the producer writes it, which is the caller.
        let tail = self.tail.count.load(Relaxed);
        let count = self.room(tail, items.len()).min(items.len());
        if count != 0 {
            // SAFETY: the places are empty, and belong to this thread until the store below.
            unsafe { ItemSlot::put_row(&self.places, tail, &items[..count]) };
            // Release: the consumer sees the items.
            self.tail.count.store(tail.wrapping_add(count as u32), Release);
            M::wake::<u32>(&self.tail.count, 1, wait);
        }
        count
    }

    /// Fills the beginning of `items` with as many items as the ring has. Returns how many.
    ///
    /// # Safety
    /// The caller is the only consumer.
    pub unsafe fn dequeue_burst(&self, items: &mut [T], wait: Wait) -> usize {
        // Relaxed: only the consumer writes it, which is the caller.
        let head = self.head.count.load(Relaxed);
        let count = self.items(head, items.len()).min(items.len());
        if count != 0 {
            // SAFETY: the places hold items, and belong to this thread until the store below.
            unsafe { ItemSlot::get_row(&self.places, head, &mut items[..count]) };
            // Release: the producer reuses the places only after this thread has taken the items.
            self.head.count.store(head.wrapping_add(count as u32), Release);
            M::wake::<u32>(&self.head.count, 1, wait);
        }
        count
    }
}

// SAFETY: a free place belongs to the producer, and a place between head and tail to the consumer.
// Each count is stored with Release after the place was used, and read with Acquire before it is
// used again.
unsafe impl<M: Machine, T: Send + 'static> RawQueue<M> for Spsc<M, T> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "spsc",
        what: "ring for one producer and one consumer, each with a copy of how far the other is",
        source: "Lamport, IEEE TSE 1977; the copies as in MCRingBuffer (Lee, Bu and Chandranmenon, IPDPS 2010)",
        limits: "one producer, one consumer",
        producers: Side::Single,
        consumers: Side::Single,
        bulk: false,
        device: false,
        counted: Counted { instructions: 72.1, accesses: 10 },
        counted_bulk: Some(CountedBulk { call: Counted { instructions: 217.0, accesses: 8 }, item: 1.5 }),
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        Self::starting_at(capacity, 0)
    }

    fn aged(capacity: usize) -> Result<Self, QueueError> {
        Self::starting_at(capacity, u32::MAX)
    }

    fn capacity(&self) -> usize {
        self.places.len()
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        // Relaxed: only the producer writes it, which is the caller.
        let tail = self.tail.count.load(Relaxed);
        if self.room(tail, 1) == 0 {
            return Err(item);
        }
        // SAFETY: the place is empty, and belongs to this thread until the store below.
        unsafe { self.place(tail).put(item) };
        // Release: the consumer sees the item.
        self.tail.count.store(tail.wrapping_add(1), Release);
        M::wake::<u32>(&self.tail.count, 1, wait);
        Ok(())
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        // Relaxed: only the consumer writes it, which is the caller.
        let head = self.head.count.load(Relaxed);
        if self.items(head, 1) == 0 {
            return None;
        }
        // SAFETY: the place holds an item, and belongs to this thread until the store below.
        let item = unsafe { self.place(head).get() };
        // Release: the producer reuses the place only after this thread has taken the item.
        self.head.count.store(head.wrapping_add(1), Release);
        M::wake::<u32>(&self.head.count, 1, wait);
        Some(item)
    }

    unsafe fn enqueue(&self, mut item: T, wait: Wait) {
        // SAFETY: the caller is the only producer.
        while let Err(back) = unsafe { self.try_enqueue(item, wait) } {
            item = back;
            // The ring is full. Only the consumer can change that, by advancing the head that this
            // side has seen.
            let _ = M::wait_while(&self.head.count, self.tail.seen.load(Relaxed), wait, None);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        loop {
            // SAFETY: the caller is the only consumer.
            if let Some(item) = unsafe { self.try_dequeue(wait) } {
                return item;
            }
            // The ring is empty. Only the producer can change that, by advancing the tail that this
            // side has seen.
            let _ = M::wait_while(&self.tail.count, self.head.seen.load(Relaxed), wait, None);
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
        let mut done = 0;
        while done < items.len() {
            // SAFETY: the caller is the only producer.
            match unsafe { self.enqueue_burst(&items[done..], wait) } {
                // The ring is full, as in `enqueue`.
                0 => _ = M::wait_while(&self.head.count, self.tail.seen.load(Relaxed), wait, None),
                count => done += count,
            }
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
        let mut done = 0;
        while done < items.len() {
            // SAFETY: the caller is the only consumer.
            match unsafe { self.dequeue_burst(&mut items[done..], wait) } {
                // The ring is empty, as in `dequeue`.
                0 => _ = M::wait_while(&self.tail.count, self.head.seen.load(Relaxed), wait, None),
                count => done += count,
            }
        }
    }
}

// SAFETY: places from tail to head are empty and belong to the producer, places from head to tail have
// items and belong to the consumer, until the counts move.
unsafe impl<M: Machine, T: Send + 'static> Lends<M> for Spsc<M, T> {
    #[inline]
    unsafe fn reserve(&self, most: usize) -> Places<'_, M, T> {
        // Relaxed: only the producer writes it, which is the caller.
        let tail = self.tail.count.load(Relaxed);
        Places::of_ring(&self.places, tail, self.room(tail, most).min(most))
    }

    #[inline]
    unsafe fn commit(&self, count: usize, wait: Wait) {
        // Relaxed: as in `reserve`.
        let tail = self.tail.count.load(Relaxed);
        // Release: the consumer sees the items.
        self.tail.count.store(tail.wrapping_add(count as u32), Release);
        M::wake::<u32>(&self.tail.count, 1, wait);
    }

    #[inline]
    unsafe fn peek(&self, most: usize) -> Places<'_, M, T> {
        // Relaxed: only the consumer writes it, which is the caller.
        let head = self.head.count.load(Relaxed);
        Places::of_ring(&self.places, head, self.items(head, most).min(most))
    }

    #[inline]
    unsafe fn release(&self, count: usize, wait: Wait) {
        // Relaxed: as in `peek`.
        let head = self.head.count.load(Relaxed);
        // Release: the producer reuses the places only after this thread is done with the items.
        self.head.count.store(head.wrapping_add(count as u32), Release);
        M::wake::<u32>(&self.head.count, 1, wait);
    }
}

impl<M: Machine, T: Send + 'static> Drop for Spsc<M, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            // SAFETY: the owner has the queue to itself.
            while unsafe { self.try_dequeue(Wait::Spin) }.is_some() {}
        }
    }
}

/// A [`Spsc`] for any number of items: it may have more places than it holds items.
pub struct ExactSpsc<M: Machine, T: Send + 'static> {
    ring: Spsc<M, T>,
    capacity: usize,
}

impl<M: Machine, T: Send + 'static> ExactSpsc<M, T> {
    /// Returns how many more items the bound allows: all of the capacity where the number of places
    /// is the bound. While the producer does nothing, the number can only grow.
    #[inline(always)]
    fn spare(&self) -> usize {
        if self.capacity == self.ring.places.len() { self.capacity } else { self.capacity - self.len() }
    }
}

// SAFETY: the bound only makes the ring full earlier.
unsafe impl<M: Machine, T: Send + 'static> RawQueue<M> for ExactSpsc<M, T> {
    type Item = T;
    const INFO: QueueInfo = Spsc::<M, T>::INFO;

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        Spsc::with_capacity(capacity).map(|ring| ExactSpsc { ring, capacity })
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: T, wait: Wait) -> Result<(), T> {
        if self.spare() == 0 {
            return Err(item);
        }
        // SAFETY: guaranteed by the caller, here and below.
        unsafe { self.ring.try_enqueue(item, wait) }
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<T> {
        // SAFETY: see above.
        unsafe { self.ring.try_dequeue(wait) }
    }

    unsafe fn enqueue(&self, mut item: T, wait: Wait) {
        loop {
            // Relaxed: only compared, and waited for.
            let head = self.ring.head.count.load(Relaxed);
            // SAFETY: see above.
            match unsafe { self.try_enqueue(item, wait) } {
                Ok(()) => return,
                // Only the consumer can make room, by advancing the head.
                Err(back) => item = back,
            }
            let _ = M::wait_while(&self.ring.head.count, head, wait, None);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        // SAFETY: see above.
        unsafe { self.ring.dequeue(wait) }
    }
}

// SAFETY: as above.
unsafe impl<M: Machine, T: Send + 'static> ExactQueue<M> for ExactSpsc<M, T> {
    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        let places = OwnedSlice::new(places_for(capacity)?, |_| ItemSlot::empty());
        Ok(ExactSpsc { ring: Spsc { tail: End::new(0), head: End::new(0), places }, capacity })
    }

    #[inline]
    fn len(&self) -> usize {
        // Acquire: the tail that is read next is not behind this head. Relaxed: no item is accessed.
        let head = self.ring.head.count.load(Acquire);
        // More items than there are places may pass between the two reads.
        (self.ring.tail.count.load(Relaxed).wrapping_sub(head) as usize).min(self.capacity)
    }

    unsafe fn put_some(&self, items: &[T], wait: Wait) -> usize
    where
        T: Copy,
    {
        let count = items.len().min(self.spare());
        // SAFETY: see above.
        unsafe { self.ring.enqueue_burst(&items[..count], wait) }
    }

    unsafe fn take_some(&self, items: &mut [T], wait: Wait) -> usize
    where
        T: Copy,
    {
        // SAFETY: see above.
        unsafe { self.ring.dequeue_burst(items, wait) }
    }
}

// SAFETY: the bound only makes the ring lend fewer places.
unsafe impl<M: Machine, T: Send + 'static> Lends<M> for ExactSpsc<M, T> {
    #[inline]
    unsafe fn reserve(&self, most: usize) -> Places<'_, M, T> {
        // SAFETY: guaranteed by the caller, here and below.
        unsafe { self.ring.reserve(most.min(self.spare())) }
    }

    #[inline]
    unsafe fn commit(&self, count: usize, wait: Wait) {
        // SAFETY: see above.
        unsafe { self.ring.commit(count, wait) };
    }

    #[inline]
    unsafe fn peek(&self, most: usize) -> Places<'_, M, T> {
        // SAFETY: see above.
        unsafe { self.ring.peek(most) }
    }

    #[inline]
    unsafe fn release(&self, count: usize, wait: Wait) {
        // SAFETY: see above.
        unsafe { self.ring.release(count, wait) };
    }
}
