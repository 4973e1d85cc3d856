//! Places that a queue lends: a producer builds items in free places and then commits them, a consumer
//! looks at items in their places and then releases them. Until then the other side sees no change,
//! so that giving up costs nothing.
//!
//! A side lends places only to a thread that has the side to itself. If several threads shared the
//! side, the items behind a lent place could not leave the queue, and the thread that has the place
//! would hold up all others.

use super::channel::{Bell, Channel, NotReceived, NotSent, QUIET, until};
use super::item::{ItemSlot, parts};
use super::{ExactQueue, News, RawQueue};
use baton_machine::{Deadline, Machine, Native, Wait};
use core::cell::UnsafeCell;
use core::ops::Range;

/// Neighbouring places of a queue, in the order of their items. They are in two pieces where a ring
/// continues at its beginning.
pub struct Places<'a, M: Machine, T: Send + 'static> {
    pieces: [&'a [ItemSlot<M, T>]; 2],
}

impl<'a, M: Machine, T: Send + 'static> Places<'a, M, T> {
    /// `count` places of a ring from `first` on.
    #[inline(always)]
    pub(super) fn of_ring(places: &'a [ItemSlot<M, T>], first: u32, count: usize) -> Self {
        let (behind, begin) = parts(places, first, count);
        Places { pieces: [behind, begin] }
    }

    /// One place, or none.
    #[inline(always)]
    pub(super) fn at_most_one(place: Option<&'a ItemSlot<M, T>>) -> Self {
        Places { pieces: [place.map_or(&[], core::slice::from_ref), &[]] }
    }

    /// Returns the number of places.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.pieces[0].len() + self.pieces[1].len()
    }

    /// Whether there is no place.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.pieces[0].is_empty()
    }

    #[inline(always)]
    fn at(&self, i: usize) -> &'a ItemSlot<M, T> {
        let [behind, begin] = self.pieces;
        if i < behind.len() { &behind[i] } else { &begin[i - behind.len()] }
    }

    /// Puts an item into place `i`.
    ///
    /// # Safety
    /// The places were reserved and are not committed yet; the calling thread has them to itself.
    #[inline(always)]
    pub unsafe fn put(&self, i: usize, item: T) {
        // SAFETY: a reserved place is empty and belongs to the caller.
        unsafe { self.at(i).put(item) };
    }

    /// Calls `f` with the item in place `i`.
    ///
    /// # Safety
    /// The place has an item: it was peeked at and is not released yet, or an item was put in. No
    /// thread changes the item meanwhile.
    #[inline(always)]
    pub unsafe fn look<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: guaranteed by the caller.
        unsafe { self.at(i).look(f) }
    }

    /// Moves the item out of place `i`.
    ///
    /// # Safety
    /// As [`Places::look`]. The item is not used in its place again.
    #[inline(always)]
    pub unsafe fn take(&self, i: usize) -> T {
        // SAFETY: guaranteed by the caller.
        unsafe { self.at(i).get() }
    }
}

impl<T: Send + 'static> Places<'_, Native, T> {
    /// Returns the memory of the places `range`, in two pieces.
    ///
    /// # Panics
    /// Panics if there are fewer places.
    pub fn memory(&self, range: Range<usize>) -> [*mut [T]; 2] {
        const { assert!(size_of::<ItemSlot<Native, T>>() == size_of::<T>()) };
        let [behind, begin] = self.pieces;
        let cut = behind.len();
        let piece = |row: &[ItemSlot<Native, T>]| {
            // A native slot is an `UnsafeCell` of its item, so that a row of slots is a row of items.
            let first = UnsafeCell::raw_get(row.as_ptr().cast::<UnsafeCell<T>>());
            core::ptr::slice_from_raw_parts_mut(first, row.len())
        };
        [
            piece(&behind[range.start.min(cut)..range.end.min(cut)]),
            piece(&begin[range.start.saturating_sub(cut)..range.end.saturating_sub(cut)]),
        ]
    }
}

/// A queue that lends its places to a thread that has a side to itself.
///
/// # Safety
/// The places that [`Lends::reserve`] returns are empty, and no other thread uses them until they are
/// committed. The places that [`Lends::peek`] returns have items, whose producer's writes happened
/// before, and no other thread uses them until they are released.
pub unsafe trait Lends<M: Machine>: RawQueue<M> {
    /// Returns up to `most` free places. The queue stays as it is.
    ///
    /// # Safety
    /// The calling thread is the only producer, and earlier enqueues happened before.
    unsafe fn reserve(&self, most: usize) -> Places<'_, M, Self::Item>;

    /// Enqueues the items in the first `count` places that the last [`Lends::reserve`] returned.
    ///
    /// # Safety
    /// As [`Lends::reserve`]. These places have items, and nothing was enqueued in between.
    unsafe fn commit(&self, count: usize, wait: Wait);

    /// Returns the places of up to `most` items from the front. The queue stays as it is.
    ///
    /// # Safety
    /// The calling thread is the only consumer, and earlier dequeues happened before.
    unsafe fn peek(&self, most: usize) -> Places<'_, M, Self::Item>;

    /// Gives the first `count` places back that the last [`Lends::peek`] returned.
    ///
    /// # Safety
    /// As [`Lends::peek`]. The items in these places were moved out or dropped, and nothing else was
    /// dequeued in between. A later call gives back the places that follow.
    unsafe fn release(&self, count: usize, wait: Wait);
}

impl<M: Machine, Q: ExactQueue<M> + Lends<M>, B: Bell<M>> Channel<M, Q, B> {
    /// Returns up to `most` free places.
    ///
    /// # Errors
    /// Fails if the channel is full or closed.
    ///
    /// # Safety
    /// As [`Lends::reserve`].
    #[inline]
    pub unsafe fn try_reserve(&self, most: usize) -> Result<Places<'_, M, Q::Item>, NotSent<()>> {
        if self.is_closed() {
            return Err(NotSent::Closed(()));
        }
        // SAFETY: guaranteed by the caller.
        let places = unsafe { self.queue().reserve(most) };
        if places.is_empty() && most != 0 { Err(NotSent::Full(())) } else { Ok(places) }
    }

    /// [`Channel::try_reserve`], waiting while there is no room.
    ///
    /// # Errors
    /// Fails if the channel is closed or the deadline passes first.
    ///
    /// # Safety
    /// As [`Lends::reserve`].
    #[inline]
    pub unsafe fn reserve(
        &self,
        most: usize,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> Result<Places<'_, M, Q::Item>, NotSent<()>> {
        // SAFETY: guaranteed by the caller.
        let mut again = || match unsafe { self.try_reserve(most) } {
            Err(NotSent::Full(())) => None,
            done => Some(done),
        };
        let (bell, _) = self.senders();
        again()
            .or_else(|| {
                self.queue().hear(News::WaitsForRoom);
                let done = until(bell, wait, deadline, &mut again, &|| self.has_room());
                self.queue().hear(if matches!(done, Some(Ok(_))) { News::Got } else { News::GoesOn });
                done
            })
            .unwrap_or(Err(NotSent::Expired(())))
    }

    /// Sends the items in the first `count` reserved places.
    ///
    /// # Errors
    /// Fails if the channel is closed; the items stay in their places, which are not part of the queue.
    ///
    /// # Safety
    /// As [`Lends::commit`].
    #[inline]
    pub unsafe fn commit(&self, count: usize, wait: Wait) -> Result<(), NotSent<()>> {
        if self.is_closed() {
            return Err(NotSent::Closed(()));
        }
        if count != 0 {
            // SAFETY: guaranteed by the caller.
            unsafe { self.queue().commit(count, QUIET) };
            self.receivers().0.ring(count, wait);
        }
        Ok(())
    }

    /// Returns the places of up to `most` items.
    ///
    /// # Errors
    /// Fails if the channel is empty, and says whether it is closed too.
    ///
    /// # Safety
    /// As [`Lends::peek`].
    #[inline]
    pub unsafe fn try_peek(&self, most: usize) -> Result<Places<'_, M, Q::Item>, NotReceived> {
        // Read first: items that were sent before the channel was closed are then found.
        let closed = self.is_closed();
        // SAFETY: guaranteed by the caller.
        let places = unsafe { self.queue().peek(most) };
        if !places.is_empty() || most == 0 {
            return Ok(places);
        }
        Err(if closed && self.queue().is_empty() { NotReceived::Closed } else { NotReceived::Empty })
    }

    /// [`Channel::try_peek`], waiting while there is no item.
    ///
    /// # Errors
    /// Fails if the channel is closed and empty, or if the deadline passes first.
    ///
    /// # Safety
    /// As [`Lends::peek`].
    #[inline]
    pub unsafe fn peek(
        &self,
        most: usize,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> Result<Places<'_, M, Q::Item>, NotReceived> {
        // SAFETY: guaranteed by the caller.
        let mut again = || match unsafe { self.try_peek(most) } {
            Err(NotReceived::Empty) => None,
            done => Some(done),
        };
        let (bell, _) = self.receivers();
        again()
            .or_else(|| {
                self.queue().hear(News::WaitsForItem);
                let done = until(bell, wait, deadline, &mut again, &|| self.has_news());
                self.queue().hear(if matches!(done, Some(Ok(_))) { News::Got } else { News::GoesOn });
                done
            })
            .unwrap_or(Err(NotReceived::Expired))
    }

    /// Gives the first `count` places back that were peeked at.
    ///
    /// # Safety
    /// As [`Lends::release`].
    #[inline]
    pub unsafe fn release(&self, count: usize, wait: Wait) {
        if count != 0 {
            // SAFETY: guaranteed by the caller.
            unsafe { self.queue().release(count, QUIET) };
            self.senders().0.ring(count, wait);
        }
    }
}
