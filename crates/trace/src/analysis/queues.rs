//! Causes of waits at queues, and the figures of queues.
//!
//! A queue is first in, first out: the `n`-th item that leaves it is the `n`-th one that went in. So
//! a thread that waited for an item waited for the put of that item. In a queue with a capacity, a
//! thread that waited for room to put the `n`-th item waited for the take of item `n - capacity`.
//!
//! Threads put and take at the same time, and record it just afterwards. So the order of their
//! records is not always that of the items: a cause may be the put or take of another thread at the
//! same moment. If the record of the cause comes later than the end of the wait, the wait has no
//! cause.
//!
//! A stream ([`crate::Stream`]) is a queue of bytes whose capacity is not known: a thread that waited for
//! room there waited for the last take.

use super::cause::{Carry, Cause, WaitKind};
use super::stats::Distribution;
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Event, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::{BTreeMap, VecDeque};

/// Most puts, and most takes, that are kept of one queue. The oldest ones are forgotten: the waits
/// for their items then have no cause.
const KEPT: usize = 1 << 16;

/// The puts into a queue, or the takes from it, that a wait may still turn out to have waited for.
struct Moves<T> {
    /// Number of items so far.
    count: u64,
    /// Number of the items that were forgotten: the oldest ones.
    forgotten: u64,
    /// Each later put or take, with the number of items up to its end.
    recent: VecDeque<(u64, Cause<T>)>,
}

impl<T: Carry> Moves<T> {
    fn new() -> Moves<T> {
        Moves { count: 0, forgotten: 0, recent: VecDeque::new() }
    }

    fn add(&mut self, items: u32, cause: Cause<T>) {
        if self.recent.len() == KEPT {
            self.forget_first();
        }
        self.count += u64::from(items);
        self.recent.push_back((self.count, cause));
    }

    /// Returns what moved the item with this number; the first item has number 0.
    fn of(&self, item: u64) -> Option<Cause<T>> {
        let at = self.recent.partition_point(|(end, _)| *end <= item);
        self.recent.get(at).filter(|_| item >= self.forgotten).map(|(_, cause)| cause.clone())
    }

    /// Forgets what moved the items before this one.
    fn forget_before(&mut self, item: u64) {
        while self.recent.front().is_some_and(|(end, _)| *end <= item) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((end, _)) = self.recent.pop_front() {
            self.forgotten = end;
        }
    }
}

/// The items that pass through a queue.
pub(super) struct Passage<T> {
    /// Capacity, if it is known and the queue has one.
    pub(super) capacity: Option<u64>,
    puts: Moves<T>,
    takes: Moves<T>,
    /// The last take, if the capacity is not known.
    last_take: Option<Cause<T>>,
    pub(super) closed: Option<Cause<T>>,
}

impl<T: Carry> Passage<T> {
    pub(super) fn new() -> Passage<T> {
        Passage { capacity: None, puts: Moves::new(), takes: Moves::new(), last_take: None, closed: None }
    }

    pub(super) fn put(&mut self, items: u32, cause: Cause<T>) {
        self.puts.add(items, cause);
        if let Some(capacity) = self.capacity {
            self.takes.forget_before(self.puts.count.saturating_sub(capacity));
        }
        self.puts.forget_before(self.takes.count);
    }

    pub(super) fn take(&mut self, items: u32, cause: Cause<T>) {
        match self.capacity {
            Some(_) => self.takes.add(items, cause),
            None => {
                self.takes.count += u64::from(items);
                self.last_take = Some(cause);
            }
        }
        self.puts.forget_before(self.takes.count);
    }

    /// Returns the take that made room for the next item; the last take, if the capacity is not known.
    pub(super) fn room(&self) -> Option<Cause<T>> {
        match self.capacity {
            Some(capacity) => self.takes.of(self.puts.count.checked_sub(capacity)?),
            None => self.last_take.clone(),
        }
    }

    /// Returns the put of the item that is taken next.
    pub(super) fn item(&self) -> Option<Cause<T>> {
        self.puts.of(self.takes.count)
    }
}

/// Returns the capacity that an event tells, if there is one and the event can hold it.
pub(super) fn bound(capacity: u32) -> Option<u64> {
    (capacity != 0 && capacity < What::MOST_ITEMS).then_some(u64::from(capacity))
}

/// Figures of one side of a queue: of the threads that put items in, or those that take them out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSide {
    /// Number of items inside the window.
    pub items: u64,
    /// Lengths, inside the window, of the waits that ended inside it.
    pub wait: Distribution,
    /// Waits that ended at a deadline.
    pub timeouts: u64,
    /// Number of items of each thread.
    pub movers: BTreeMap<ThreadIndex, u64>,
    /// Number and total time of each thread's waits.
    pub threads: BTreeMap<ThreadIndex, (u64, Ticks)>,
    /// Number and total time of the waits of each call site.
    pub sites: BTreeMap<(ProcessIndex, SiteId), (u64, Ticks)>,
}

/// Figures of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// How many items fit; `None` if the queue has no bound, or if the bound is not known.
    pub capacity: Option<u64>,
    /// The side that puts items in, and waits where the queue is full.
    pub puts: QueueSide,
    /// The side that takes items out, and waits where the queue is empty.
    pub takes: QueueSide,
    /// Greatest number of items in the queue inside the window.
    pub deepest: u64,
    /// Sum over the window of the number of items in the queue times the time, in ticks.
    pub item_ticks: u128,
    /// Number of items in the queue, and since when. The number may be negative for a moment, as a
    /// take may be recorded before the put of the same item.
    depth: (i64, Ticks),
}

impl QueueStats {
    /// Follows an event of the queue. `counted`: it lies inside the window.
    pub(super) fn step(&mut self, event: &Event, counted: bool, window: &Window) {
        match event.what {
            What::QueueCapacity { capacity, .. } => self.capacity = bound(capacity),
            What::Put { items, .. } => {
                self.puts.moved(event.thread, items, counted);
                self.deepen(event.time, i64::from(items), window);
                if counted {
                    // The take of an item may be recorded after the put of another one in its place.
                    let items = (self.depth.0.max(0) as u64).min(self.capacity.unwrap_or(u64::MAX));
                    self.deepest = self.deepest.max(items);
                }
            }
            What::Take { items, .. } => {
                self.takes.moved(event.thread, items, counted);
                self.deepen(event.time, -i64::from(items), window);
            }
            _ => {}
        }
    }

    /// Changes the number of items in the queue.
    fn deepen(&mut self, now: Ticks, change: i64, window: &Window) {
        let (depth, since) = self.depth;
        self.item_ticks += depth.max(0) as u128 * u128::from(window.overlap(since, now).0);
        self.depth = (depth.saturating_add(change), now);
    }

    /// Ends the queue's account at `now`.
    pub(super) fn finish(&mut self, now: Ticks, window: &Window) {
        self.deepen(now, 0, window);
    }

    /// Returns the side that waits in this kind of wait.
    pub(super) fn side(&mut self, kind: WaitKind) -> Option<&mut QueueSide> {
        match kind {
            WaitKind::Room => Some(&mut self.puts),
            WaitKind::Item => Some(&mut self.takes),
            _ => None,
        }
    }
}

impl QueueSide {
    fn moved(&mut self, thread: ThreadIndex, items: u32, counted: bool) {
        if counted {
            self.items += u64::from(items);
            *self.movers.entry(thread).or_default() += u64::from(items);
        }
    }

    /// Enters a wait of which `length` lies inside the window. `ended`: whether it ended there, and
    /// whether it then gave up.
    pub(super) fn waited(
        &mut self,
        thread: ThreadIndex,
        site: (ProcessIndex, SiteId),
        length: Ticks,
        ended: Option<bool>,
    ) {
        if let Some(gave_up) = ended {
            self.wait.add(length);
            self.timeouts += u64::from(gave_up);
        }
        for (count, time) in [self.sites.entry(site).or_default(), self.threads.entry(thread).or_default()] {
            *count += u64::from(ended.is_some());
            *time += length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(number: u64) -> Cause<()> {
        Cause { thread: ThreadIndex(0), time: Ticks(number), number, carried: () }
    }

    fn number(cause: Option<Cause<()>>) -> Option<u64> {
        cause.map(|cause| cause.number)
    }

    #[test]
    fn an_item_comes_from_its_put_and_room_from_the_take_a_capacity_before() {
        let mut queue = Passage::new();
        queue.capacity = Some(3);
        assert!(queue.item().is_none() && queue.room().is_none());
        queue.put(1, moved(1));
        queue.put(2, moved(2));
        assert_eq!((number(queue.item()), number(queue.room())), (Some(1), None), "the queue is full");
        queue.take(2, moved(3));
        assert_eq!((number(queue.item()), number(queue.room())), (Some(2), Some(3)));
        queue.put(1, moved(4));
        queue.put(1, moved(5));
        assert_eq!(number(queue.room()), None);
        queue.take(1, moved(6));
        assert_eq!((number(queue.item()), number(queue.room())), (Some(4), Some(6)));
        // A take may be recorded before the put of its item.
        queue.take(3, moved(7));
        assert_eq!(number(queue.item()), None);
        queue.put(1, moved(8));
        queue.put(1, moved(9));
        assert_eq!(number(queue.item()), Some(9));
    }

    #[test]
    fn what_was_forgotten_has_no_cause() {
        let mut queue = Passage::new();
        (0..KEPT as u64 + 2).for_each(|put| queue.put(1, moved(put)));
        assert_eq!(number(queue.item()), None);
        queue.take(2, moved(0));
        assert_eq!(number(queue.item()), Some(2));
        assert_eq!(number(queue.room()), Some(0), "the last take, as the bound is not known");
    }
}
