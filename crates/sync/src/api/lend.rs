//! Places of a queue, lent to the only sender or the only receiver.

use super::policy::WaitPolicy;
use super::queue::{Kind, OneReceiver, OneSender, Receiver, Sender, Shared};
use crate::queue::channel::{NotReceived, NotSent};
use crate::queue::lend::{Lends, Places};
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::mem::MaybeUninit;

impl<T: Send + 'static, K: OneSender, W: WaitPolicy> Sender<T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    /// Borrows up to `most` free places, to build items in them, and waits while there is none. (A
    /// queue of kind [`OneToMany`](super::OneToMany) lends one place at a time.)
    ///
    /// Only a kind of queue with one sender lends free places: with several, those that build slowly
    /// would hold up the others.
    ///
    /// ```
    /// use baton_sync::{OneToOne, queue_of};
    ///
    /// let (mut sender, mut receiver) = queue_of::<[u8; 4096], OneToOne>(8).unwrap();
    /// let mut room = sender.reserve(2).unwrap();
    /// while room.push_with(|| [7; 4096]) {}
    /// assert_eq!(room.commit().unwrap(), 2); // sent; a room that is dropped sends nothing
    ///
    /// let items = receiver.peek(8).unwrap();
    /// assert!(items.iter().all(|page| page[0] == 7));
    /// items.release(1); // received
    /// assert_eq!(receiver.len(), 1); // the other one is still there
    /// ```
    ///
    /// ```compile_fail,E0277
    /// let (mut sender, receiver) = baton_sync::queue_of::<u32, baton_sync::ManyToMany>(4).unwrap();
    /// let room = sender.reserve(1);
    /// ```
    ///
    /// # Errors
    /// Fails if the queue is closed.
    #[inline]
    pub fn reserve(&mut self, most: usize) -> Result<Room<'_, T, K, W>, NotSent<()>> {
        // SAFETY: the kind has one sender, which the caller has to itself as long as the room lives.
        unsafe { self.shared.channel.reserve(most, W::WAIT, None) }.map(|places| Room::new(&self.shared, places))
    }

    /// [`Sender::reserve`] until `deadline` at the latest.
    ///
    /// # Errors
    /// Fails if the queue is closed, or full until the deadline.
    pub fn reserve_until(&mut self, most: usize, deadline: Deadline) -> Result<Room<'_, T, K, W>, NotSent<()>> {
        // SAFETY: as in `reserve`.
        let places = unsafe { self.shared.channel.reserve(most, W::WAIT, Some(deadline)) };
        places.map(|places| Room::new(&self.shared, places))
    }

    /// [`Sender::reserve`] without waiting.
    ///
    /// # Errors
    /// Fails if the queue is closed or full.
    #[inline]
    pub fn try_reserve(&mut self, most: usize) -> Result<Room<'_, T, K, W>, NotSent<()>> {
        // SAFETY: as in `reserve`.
        unsafe { self.shared.channel.try_reserve(most) }.map(|places| Room::new(&self.shared, places))
    }
}

impl<T: Send + 'static, K: OneReceiver, W: WaitPolicy> Receiver<T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    /// Borrows up to `most` items from the front, in their places, and waits while there is none. (A
    /// queue of kind [`ManyToOne`](super::ManyToOne) lends one item at a time.)
    ///
    /// # Errors
    /// Fails if the queue is closed and empty.
    #[inline]
    pub fn peek(&mut self, most: usize) -> Result<Items<'_, T, K, W>, NotReceived> {
        // SAFETY: the kind has one receiver, which the caller has to itself as long as the items live.
        unsafe { self.shared.channel.peek(most, W::WAIT, None) }.map(|places| Items::new(&self.shared, places))
    }

    /// [`Receiver::peek`] until `deadline` at the latest.
    ///
    /// # Errors
    /// Fails if the queue is closed and empty, or empty until the deadline.
    pub fn peek_until(&mut self, most: usize, deadline: Deadline) -> Result<Items<'_, T, K, W>, NotReceived> {
        // SAFETY: as in `peek`.
        let places = unsafe { self.shared.channel.peek(most, W::WAIT, Some(deadline)) };
        places.map(|places| Items::new(&self.shared, places))
    }

    /// [`Receiver::peek`] without waiting.
    ///
    /// # Errors
    /// Fails if the queue is empty, and says whether it is closed too.
    #[inline]
    pub fn try_peek(&mut self, most: usize) -> Result<Items<'_, T, K, W>, NotReceived> {
        // SAFETY: as in `peek`.
        unsafe { self.shared.channel.try_peek(most) }.map(|places| Items::new(&self.shared, places))
    }
}

/// Drops the values of two pieces, those of the second one too if a destructor in the first one panics.
///
/// # Safety
/// The pieces have values, and no other code uses or drops these values.
unsafe fn drop_pieces<T>([first, second]: [*mut [T]; 2]) {
    struct Rest<T>(*mut [T]);
    impl<T> Drop for Rest<T> {
        fn drop(&mut self) {
            // SAFETY: guaranteed by the caller of `drop_pieces`.
            unsafe { self.0.drop_in_place() };
        }
    }
    let _rest = Rest(second);
    // SAFETY: guaranteed by the caller.
    unsafe { first.drop_in_place() };
}

/// Free places of a queue ([`Sender::reserve`]), and the items that were built in them.
/// [`Room::commit`] sends the items. A room that is dropped drops its items and sends nothing; no
/// place is lost, after a panic either.
#[must_use = "items are sent by `commit`"]
pub struct Room<'a, T: Send + 'static, K: Kind, W: WaitPolicy> {
    shared: &'a Shared<T, K>,
    places: Places<'a, Native, T>,
    /// Number of places, from the first on, that have an item.
    built: usize,
    owns: PhantomData<&'a mut [T]>,
    wait: PhantomData<fn() -> W>,
}

impl<'a, T: Send + 'static, K: Kind, W: WaitPolicy> Room<'a, T, K, W> {
    #[inline]
    fn new(shared: &'a Shared<T, K>, places: Places<'a, Native, T>) -> Self {
        Room { shared, places, built: 0, owns: PhantomData, wait: PhantomData }
    }

    /// Returns the number of places.
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of items that were built.
    pub fn len(&self) -> usize {
        self.built
    }

    /// Whether no item was built.
    pub fn is_empty(&self) -> bool {
        self.built == 0
    }

    /// Puts an item into the next place.
    ///
    /// # Errors
    /// Fails if all places have an item; the item comes back.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.built == self.places.len() {
            return Err(item);
        }
        // SAFETY: the place is lent to this room and has no item.
        unsafe { self.places.put(self.built, item) };
        self.built += 1;
        Ok(())
    }

    /// Builds the next item in its place. Returns false, without a call of `build`, if all places have
    /// an item. (The compiler may still build a large item elsewhere and copy it: [`Room::spare`] lends
    /// the memory itself.)
    #[inline]
    pub fn push_with(&mut self, build: impl FnOnce() -> T) -> bool {
        self.built < self.places.len() && self.push(build()).is_ok()
    }

    /// Takes the item back that was built last.
    pub fn pop(&mut self) -> Option<T> {
        self.built = self.built.checked_sub(1)?;
        // SAFETY: the place has an item, which no longer counts as built.
        Some(unsafe { self.places.take(self.built) })
    }

    /// Copies the first of `items` into the next places, as many as there are. Returns how many.
    pub fn extend_from_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut left = items;
        for piece in self.spare() {
            let (now, later) = left.split_at(left.len().min(piece.len()));
            piece[..now.len()].write_copy_of_slice(now);
            left = later;
        }
        let count = items.len() - left.len();
        self.built += count;
        count
    }

    /// Returns the places without an item, in order, in two pieces. The second one is empty unless the
    /// ring continues at its beginning.
    pub fn spare(&mut self) -> [&mut [MaybeUninit<T>]; 2] {
        // SAFETY: the places are lent to this room, which is borrowed. `MaybeUninit` needs no item.
        self.places.memory(self.built..self.places.len()).map(|piece| unsafe { &mut *(piece as *mut [MaybeUninit<T>]) })
    }

    /// Says that the first `count` places of [`Room::spare`] have items now.
    ///
    /// # Panics
    /// Panics if there are fewer places.
    ///
    /// # Safety
    /// These places were initialised.
    pub unsafe fn assume_built(&mut self, count: usize) {
        assert!(count <= self.places.len() - self.built, "the room has fewer than {count} places without an item");
        self.built += count;
    }
}

impl<T: Send + 'static, K: OneSender, W: WaitPolicy> Room<'_, T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    /// Sends the items. Returns how many.
    ///
    /// # Errors
    /// Fails if the queue was closed meanwhile; the room with its items comes back.
    #[inline]
    pub fn commit(mut self) -> Result<usize, Self> {
        // The items belong to the queue before another task is told of them, whose waker could panic.
        let count = core::mem::take(&mut self.built);
        // SAFETY: the places were reserved by the only sender, and have items.
        if unsafe { self.shared.channel.commit(count, W::WAIT) }.is_err() {
            self.built = count;
            return Err(self);
        }
        self.shared.sent();
        Ok(count)
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> Drop for Room<'_, T, K, W> {
    #[inline]
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            // SAFETY: the places have items, which are not part of the queue.
            unsafe { drop_pieces(self.places.memory(0..core::mem::take(&mut self.built))) };
        }
    }
}

impl<T: Send + 'static, K: Kind, W: WaitPolicy> core::fmt::Debug for Room<'_, T, K, W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Room").field("items", &self.built).field("places", &self.places.len()).finish()
    }
}

/// Items of a queue in their places ([`Receiver::peek`]). [`Items::release`] drops them and
/// [`Items::take`] moves them out: these are received. The others stay in the queue.
pub struct Items<'a, T: Send + 'static, K: OneReceiver, W: WaitPolicy>
where
    K::Queue<T>: Lends<Native>,
{
    shared: &'a Shared<T, K>,
    places: Places<'a, Native, T>,
    /// Number of places, from the first on, whose item is gone.
    gone: usize,
    /// How many of these were given back.
    given: usize,
    owns: PhantomData<&'a mut [T]>,
    wait: PhantomData<fn() -> W>,
}

impl<'a, T: Send + 'static, K: OneReceiver, W: WaitPolicy> Items<'a, T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    #[inline]
    fn new(shared: &'a Shared<T, K>, places: Places<'a, Native, T>) -> Self {
        Items { shared, places, gone: 0, given: 0, owns: PhantomData, wait: PhantomData }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.places.len() - self.gone
    }

    /// Whether all items have been taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the items in two pieces. The second one is empty unless the ring continues at its
    /// beginning.
    #[inline]
    pub fn as_slices(&self) -> [&[T]; 2] {
        // SAFETY: the places have items, and are lent to this value, which is borrowed.
        self.places.memory(self.gone..self.places.len()).map(|piece| unsafe { &*piece })
    }

    /// Returns the items in two pieces, to change them in their places.
    #[inline]
    pub fn as_mut_slices(&mut self) -> [&mut [T]; 2] {
        // SAFETY: as in `as_slices`, and the borrow is exclusive.
        self.places.memory(self.gone..self.places.len()).map(|piece| unsafe { &mut *piece })
    }

    /// Returns the items from the oldest on.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let [behind, begin] = self.as_slices();
        behind.iter().chain(begin)
    }

    /// Moves the oldest item out, and gives its place back at once: this value may be forgotten, and its
    /// receiver must not find the item again.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.gone += 1;
        // SAFETY: the place has an item, which counts as gone now.
        let item = unsafe { self.places.take(self.gone - 1) };
        self.give_back();
        Some(item)
    }

    /// Gives the places back whose items are gone.
    #[inline]
    fn give_back(&mut self) {
        let count = self.gone - core::mem::replace(&mut self.given, self.gone);
        // SAFETY: the only receiver peeked at these places, which follow those given back, and their items
        // are gone.
        unsafe { self.shared.channel.release(count, W::WAIT) };
    }

    /// Drops the first `count` items in their places, or all if there are fewer. Returns how many.
    #[inline]
    pub fn release(mut self, count: usize) -> usize {
        let (from, count) = (self.gone, count.min(self.len()));
        // A destructor may panic: the places are then given back too.
        self.gone += count;
        if core::mem::needs_drop::<T>() {
            // SAFETY: these places have items, which count as gone now.
            unsafe { drop_pieces(self.places.memory(from..from + count)) };
        }
        count
    }
}

impl<T: Send + 'static, K: OneReceiver, W: WaitPolicy> Drop for Items<'_, T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    #[inline]
    fn drop(&mut self) {
        self.give_back();
    }
}

impl<T: Send + 'static, K: OneReceiver, W: WaitPolicy> core::fmt::Debug for Items<'_, T, K, W>
where
    K::Queue<T>: Lends<Native>,
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Items").field("items", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Park;
    use super::super::queue::{ManyToOne, OneToMany, OneToOne, Watched, queue_of, queue_with};
    use super::*;
    use core::time::Duration;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    #[test]
    fn what_is_not_committed_was_not_sent_and_no_place_is_lost() {
        let item = Arc::new(());
        let (mut sender, mut receiver) = queue_of::<Arc<()>, OneToOne>(3).unwrap();
        for lap in 0..10 {
            let mut room = sender.reserve(5).unwrap();
            assert_eq!(room.capacity(), 3, "lap {lap}");
            (0..3).for_each(|_| room.push(item.clone()).unwrap());
            assert!(room.push(item.clone()).is_err() && room.pop().is_some());
            assert_eq!((room.len(), Arc::strong_count(&item)), (2, 3));
            drop(room);
            assert_eq!((sender.len(), Arc::strong_count(&item)), (0, 1));
            let panics = catch_unwind(AssertUnwindSafe(|| {
                let mut room = sender.try_reserve(3).unwrap();
                room.push(item.clone()).unwrap();
                room.push_with(|| panic!("an item that cannot be built"))
            }));
            assert!(panics.is_err() && Arc::strong_count(&item) == 1 && sender.is_empty());
            // The places move on, so that they are in two pieces.
            sender.send(item.clone()).unwrap();
            receiver.receive().unwrap();
        }
        let mut room = sender.reserve(2).unwrap();
        room.push(item.clone()).unwrap();
        receiver.close();
        let back = room.commit().unwrap_err();
        assert_eq!((back.len(), Arc::strong_count(&item)), (1, 2), "a closed queue takes nothing in");
        drop(back);
        assert_eq!(Arc::strong_count(&item), 1);
        assert_eq!(sender.try_reserve(1).unwrap_err(), NotSent::Closed(()));
    }

    #[test]
    fn items_are_seen_in_their_places_and_each_is_dropped_once() {
        let item = Arc::new(());
        let (mut sender, mut receiver) = queue_of::<(u32, Arc<()>), OneToOne>(4).unwrap();
        for lap in 0..7 {
            let mut room = sender.reserve(4).unwrap();
            (0..4).for_each(|n| assert!(room.push_with(|| (lap + n, item.clone()))));
            assert_eq!(room.commit().unwrap(), 4);
            assert_eq!(sender.try_reserve(1).unwrap_err(), NotSent::Full(()));
            let mut items = receiver.peek(3).unwrap();
            items.as_mut_slices().into_iter().flatten().for_each(|item| item.0 += 100);
            assert_eq!(items.iter().map(|item| item.0).collect::<Vec<_>>(), [100, 101, 102].map(|n| n + lap));
            drop(items);
            assert_eq!((receiver.len(), Arc::strong_count(&item)), (4, 5), "items that were only looked at stay");
            let mut items = receiver.peek(9).unwrap();
            assert_eq!((items.len(), items.take().map(|item| item.0)), (4, Some(100 + lap)));
            // A value that is forgotten gives no item a second time.
            core::mem::forget(items);
            let items = receiver.peek(9).unwrap();
            assert_eq!((items.len(), items.iter().next().map(|item| item.0)), (3, Some(101 + lap)));
            assert_eq!((items.release(2), receiver.len(), Arc::strong_count(&item)), (2, 1, 2));
            assert_eq!(receiver.receive().map(|item| item.0), Ok(3 + lap));
        }
        sender.try_reserve(1).unwrap().commit().unwrap();
        assert_eq!(receiver.try_peek(1).unwrap_err(), NotReceived::Empty);
        drop(sender);
        assert_eq!(receiver.peek(1).unwrap_err(), NotReceived::Closed);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    /// Panics when it is dropped.
    struct Bad(#[expect(dead_code, reason = "counts references")] Arc<()>, bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.1, "a destructor that panics");
        }
    }

    #[test]
    fn a_destructor_that_panics_loses_no_other_item_and_no_place() {
        let count = Arc::new(());
        let (mut sender, mut receiver) = queue_of::<Bad, OneToOne>(4).unwrap();
        for lap in 0..5 {
            let mut room = sender.reserve(4).unwrap();
            (0..4).for_each(|n| _ = room.push(Bad(count.clone(), n == 0)));
            if lap % 2 == 0 {
                assert!(catch_unwind(AssertUnwindSafe(|| drop(room))).is_err());
            } else {
                room.commit().unwrap();
                let items = receiver.peek(3).unwrap();
                assert!(catch_unwind(AssertUnwindSafe(|| items.release(3))).is_err());
                assert_eq!(receiver.len(), 1, "the places are given back");
                drop(receiver.receive().unwrap());
            }
            assert_eq!((Arc::strong_count(&count), sender.len()), (1, 0), "lap {lap}");
        }
    }

    /// Threads wait on both sides for places that are lent.
    fn passes<K: Kind>(ends: (Sender<u64, K, Park>, Receiver<u64, K, Park>), send: fn(&mut Sender<u64, K, Park>, u64)) {
        const ITEMS: u64 = 3_000;
        let (mut sender, receiver) = ends;
        let sum: u64 = std::thread::scope(|s| {
            s.spawn(move || (0..ITEMS).for_each(|n| send(&mut sender, n)));
            s.spawn(move || receiver.sum()).join().unwrap()
        });
        assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
    }

    fn build<K: OneSender>(sender: &mut Sender<u64, K, Park>, n: u64)
    where
        K::Queue<u64>: Lends<Native>,
    {
        let mut room = sender.reserve(1).unwrap();
        room.push(n).unwrap();
        room.commit().unwrap();
    }

    #[test]
    fn threads_wait_for_places_that_are_lent() {
        passes(queue_with::<u64, OneToOne, Park>(3).unwrap(), build);
        passes(queue_with::<u64, OneToMany, Park>(2).unwrap(), build);
        passes(queue_with::<u64, Watched<OneToOne>, Park>(1).unwrap(), build);
        let (sender, mut receiver) = queue_with::<u64, ManyToOne, Park>(3).unwrap();
        let sum: u64 = std::thread::scope(|s| {
            for mut sender in [sender.clone(), sender] {
                s.spawn(move || (0..2_000).for_each(|n| sender.send(n).unwrap()));
            }
            let mut sum = 0;
            while let Ok(mut items) = receiver.peek(8) {
                sum += items.take().unwrap();
            }
            sum
        });
        assert_eq!(sum, 2_000 * 1_999);
    }

    #[test]
    fn slices_are_copied_across_the_end_of_the_ring() {
        let (mut sender, mut receiver) = queue_of::<u8, OneToOne>(5).unwrap();
        let mut expected = 0;
        for lap in 0..40u8 {
            let mut room = sender.reserve(5).unwrap();
            assert_eq!(room.extend_from_slice(&[0, 1, 2, 3, 4, 5].map(|n| 3 * lap + n)[..3]), 3);
            // Two more are written by the caller, and one of them is sent.
            room.spare().into_iter().flatten().for_each(|place| _ = place.write(99));
            // SAFETY: the place was written above.
            unsafe { room.assume_built(1) };
            assert_eq!((room.pop(), room.commit().unwrap()), (Some(99), 3));
            let items = receiver.peek(5).unwrap();
            for item in items.iter() {
                assert_eq!(*item, expected);
                expected += 1;
            }
            items.release(usize::MAX);
        }
        let now = crate::after(Duration::ZERO);
        assert_eq!(receiver.peek_until(1, now).unwrap_err(), NotReceived::Expired);
        sender.send_all(&[0; 5]);
        assert_eq!(sender.reserve_until(1, now).unwrap_err(), NotSent::Expired(()));
    }
}
