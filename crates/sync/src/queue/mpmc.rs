//! Vyukov's bounded queue for many producers and consumers: each place carries a sequence number
//! that says which position may use it next, so that threads at different places do not wait for
//! each other.
//!
//! | number of place *i* of *n*, in lap *k* | meaning |
//! | --- | --- |
//! | 2(kn + i) | empty: for the producer of position kn + i |
//! | 2(kn + i) + 1 | full: for the consumer of that position |
//!
//! (The original counts n a lap and marks a full place by the next number, which for a queue of one
//! place equals the next lap's mark of an empty one.) Positions have 64 bits and do not wrap.

use super::item::ItemSlot;
use super::lend::{Lends, Places};
use super::{BadBound, Counted, ExactQueue, QueueError, QueueInfo, RawQueue, Side, check_capacity, places_for};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, OwnedSlice, Wait};

/// A place with its sequence number.
#[repr(C)]
struct Cell<M: Machine, T: Send + 'static> {
    turn: M::Atomic<u64>,
    place: ItemSlot<M, T>,
}

/// The next position of one side, alone in its pair of cache lines.
#[repr(C, align(128))]
struct End<M: Machine>(M::Atomic<u64>);

/// A queue for many producers and consumers, for as many items as it has places.
pub type Mpmc<M, T> = Bounded<M, T, false>;

/// A queue for many producers and consumers, for any number of items.
pub type ExactMpmc<M, T> = Bounded<M, T, true>;

/// A bounded queue for many producers and consumers; if `EXACT`, it may have more places than it
/// holds items. (A queue without a bound of its own takes fewer instructions.)
pub struct Bounded<M: Machine, T: Send + 'static, const EXACT: bool> {
    tail: End<M>,
    head: End<M>,
    /// Most items at a time, if `EXACT`; there may be more places.
    capacity: usize,
    cells: OwnedSlice<M, Cell<M, T>>,
}

/// The place of the side's next position is not ready: the place's number, and the value that was
/// seen in it, for waiting until it changes.
struct NotYet<'a, M: Machine> {
    turn: &'a M::Atomic<u64>,
    seen: u64,
}

impl<M: Machine, T: Send + 'static, const EXACT: bool> Bounded<M, T, EXACT> {
    fn with_places(places: usize, capacity: usize) -> Self {
        let cell = |i| Cell { turn: M::Atomic::new(2 * i as u64), place: ItemSlot::empty() };
        let cells = OwnedSlice::new(places, cell);
        Bounded { tail: End(M::Atomic::new(0)), head: End(M::Atomic::new(0)), capacity, cells }
    }

    fn cell(&self, at: u64) -> &Cell<M, T> {
        &self.cells[at as usize & (self.cells.len() - 1)]
    }

    /// Claims the side's next position if its place shows `2 * position + full`.
    fn claim(&self, end: &End<M>, full: u64) -> Result<(u64, &Cell<M, T>), NotYet<'_, M>> {
        // Relaxed, and the exchange too: the place's number orders accesses to the place.
        let mut at = end.0.load(Relaxed);
        loop {
            if EXACT
                && full == 0
                && self.capacity < self.cells.len()
                && let Some(not_yet) = self.bound(at)
            {
                return Err(not_yet);
            }
            let cell = &self.cells[at as usize & (self.cells.len() - 1)];
            // Acquire: the thread that used the place before is done with it.
            let turn = cell.turn.load(Acquire);
            match turn.cmp(&(2 * at + full)) {
                core::cmp::Ordering::Equal => match end.0.compare_exchange_weak(at, at + 1, Relaxed, Relaxed) {
                    Ok(_) => return Ok((at, cell)),
                    Err(now) => at = now,
                },
                core::cmp::Ordering::Less => return Err(NotYet { turn: &cell.turn, seen: turn }),
                // Another thread has taken this position: look again. Relaxed as above.
                core::cmp::Ordering::Greater => at = end.0.load(Relaxed),
            }
        }
    }

    /// Returns the place that must become empty before position `at` may be used, if the queue then
    /// had more items than its capacity.
    fn bound(&self, at: u64) -> Option<NotYet<'_, M>> {
        loop {
            // Relaxed: no place is used on account of it.
            let head = self.head.0.load(Relaxed);
            // A position behind the head is an old one, which cannot be claimed.
            if at.saturating_sub(head) < self.capacity as u64 {
                return None;
            }
            let turn = &self.cell(head).turn;
            // Acquire: if the consumer has left the place, the next load sees the head that it has
            // moved before.
            let seen = turn.load(Acquire);
            if seen <= 2 * head + 1 {
                return Some(NotYet { turn, seen });
            }
        }
    }

    /// Hands a place to the position that may use it next.
    fn pass(&self, cell: &Cell<M, T>, turn: u64, wait: Wait) {
        // Release: the next user of the place sees what this thread did with it.
        cell.turn.store(turn, Release);
        // Wakes all: waiters that find that another thread was faster must go on to the next place.
        M::wake::<u64>(&cell.turn, u32::MAX, wait);
    }

    fn put_one(&self, item: T, wait: Wait) -> Result<(), (T, NotYet<'_, M>)> {
        match self.claim(&self.tail, 0) {
            Ok((at, cell)) => {
                // SAFETY: only this thread has the position, and its place is empty.
                unsafe { cell.place.put(item) };
                self.pass(cell, 2 * at + 1, wait);
                Ok(())
            }
            Err(full) => Err((item, full)),
        }
    }

    fn take_one(&self, wait: Wait) -> Result<T, NotYet<'_, M>> {
        let (at, cell) = self.claim(&self.head, 1)?;
        // SAFETY: only this thread has the position, and its place holds an item.
        let item = unsafe { cell.place.get() };
        self.pass(cell, 2 * (at + self.cells.len() as u64), wait);
        Ok(item)
    }
}

// SAFETY: each side gives out a position once. The place's number admits first its producer and
// then its consumer, by Release stores that are read with Acquire.
unsafe impl<M: Machine, T: Send + 'static, const EXACT: bool> RawQueue<M> for Bounded<M, T, EXACT> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "mpmc",
        what: "each place has a number that says whose turn it is there",
        source: "Vyukov, Bounded MPMC queue, 1024cores.net",
        limits: "a preempted thread holds up the one that has its place next; neighbouring places share lines",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: false,
        device: false,
        counted: Counted { instructions: 86.0, accesses: 10 },
        counted_bulk: None,
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        check_capacity(capacity)?;
        Ok(Self::with_places(capacity, capacity))
    }

    fn capacity(&self) -> usize {
        self.capacity
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
        while let Err((back, full)) = self.put_one(item, wait) {
            item = back;
            let _ = M::wait_while(full.turn, full.seen, wait, None);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        loop {
            match self.take_one(wait) {
                Ok(item) => return item,
                Err(empty) => {
                    let _ = M::wait_while(empty.turn, empty.seen, wait, None);
                }
            }
        }
    }
}

// SAFETY: the bound only makes the queue full earlier.
unsafe impl<M: Machine, T: Send + 'static> ExactQueue<M> for ExactMpmc<M, T> {
    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        Ok(Self::with_places(places_for(capacity)?, capacity))
    }

    fn len(&self) -> usize {
        // Relaxed for both: no item is accessed. A tail that is behind the head is an old one, and
        // more items than there are places may pass between the two reads.
        let head = self.head.0.load(Relaxed);
        (self.tail.0.load(Relaxed).saturating_sub(head) as usize).min(self.capacity)
    }
}

// SAFETY: by contract the side has one thread, so its next position is that thread's. The place's
// number gives the place to this position, and to no other until it changes. Places of several
// positions are not neighbours in memory, so that one is lent at a time.
unsafe impl<M: Machine, T: Send + 'static, const EXACT: bool> Lends<M> for Bounded<M, T, EXACT> {
    #[inline]
    unsafe fn reserve(&self, most: usize) -> Places<'_, M, T> {
        // Relaxed: only the producer writes it, which is the caller.
        let at = self.tail.0.load(Relaxed);
        if most == 0 || EXACT && self.capacity < self.cells.len() && self.bound(at).is_some() {
            return Places::at_most_one(None);
        }
        let cell = self.cell(at);
        // Acquire: the consumer that used the place before is done with it.
        Places::at_most_one((cell.turn.load(Acquire) == 2 * at).then_some(&cell.place))
    }

    #[inline]
    unsafe fn commit(&self, count: usize, wait: Wait) {
        debug_assert_eq!(count, 1, "one place was lent");
        // Relaxed, for the store too: the place's number orders accesses to the place.
        let at = self.tail.0.load(Relaxed);
        self.tail.0.store(at + 1, Relaxed);
        self.pass(self.cell(at), 2 * at + 1, wait);
    }

    #[inline]
    unsafe fn peek(&self, most: usize) -> Places<'_, M, T> {
        // Relaxed: only the consumer writes it, which is the caller.
        let at = self.head.0.load(Relaxed);
        let cell = self.cell(at);
        // Acquire: see the item.
        Places::at_most_one((most != 0 && cell.turn.load(Acquire) == 2 * at + 1).then_some(&cell.place))
    }

    #[inline]
    unsafe fn release(&self, count: usize, wait: Wait) {
        debug_assert_eq!(count, 1, "one place was lent");
        // Relaxed, for the store too: as in `commit`.
        let at = self.head.0.load(Relaxed);
        self.head.0.store(at + 1, Relaxed);
        self.pass(self.cell(at), 2 * (at + self.cells.len() as u64), wait);
    }
}

impl<M: Machine, T: Send + 'static, const EXACT: bool> Drop for Bounded<M, T, EXACT> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            while self.take_one(Wait::Spin).is_ok() {}
        }
    }
}
