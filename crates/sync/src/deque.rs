//! Work-stealing deque of Chase and Lev (SPAA 2005), bounded, with the fences of Lê, Pop, Cohen and
//! Zappa Nardelli (PPoPP 2013).
//!
//! One thread, the owner, pushes and pops at the bottom; any number of other threads steal at the
//! top. It is not a queue: the owner pops what it pushed last. It does not grow: an owner that
//! finds it full must process the item itself.

use crate::queue::QueueError;
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice, Word};
use core::marker::PhantomData;

/// One end of the deque, alone in its pair of cache lines.
#[repr(C, align(128))]
struct End<M: Machine>(M::Atomic<u64>);

/// A bounded work-stealing deque. Each end counts the items that passed it, and never wraps: at an
/// item a nanosecond that takes centuries.
pub struct Deque<M: Machine, T: Word> {
    /// Only the owner writes it.
    bottom: End<M>,
    /// Advanced by the thread that takes the oldest item.
    top: End<M>,
    places: OwnedSlice<M, M::Atomic<u64>>,
    items: PhantomData<fn(T) -> T>,
}

/// The result of a steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// The oldest item was taken.
    Taken(T),
    /// The deque was empty.
    Empty,
    /// Another thread took the item first; there may be more.
    Lost,
}

impl<M: Machine, T: Word> Deque<M, T> {
    /// Creates an empty deque with room for `capacity` items, a power of two from 1 to 2^30.
    ///
    /// # Errors
    /// Returns the capacity if it is not allowed.
    pub fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        crate::queue::check_capacity(capacity)?;
        let end = || End(M::Atomic::new(0));
        let places = OwnedSlice::new(capacity, |_| M::Atomic::new(0));
        Ok(Deque { bottom: end(), top: end(), places, items: PhantomData })
    }

    fn place(&self, count: u64) -> &M::Atomic<u64> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    /// Takes the item at `top`. Returns false if another thread took it first.
    fn claim(&self, top: u64) -> bool {
        // Release: the owner reuses the place only after this thread's read of it, and a thief that
        // reads the new top has this thread's claim before its fence. C11: without the first
        // guarantee an owner's later store could be read too early, an execution that loom does not
        // have. The second matters where fences order no more than the standard says; loom's order
        // everything that came before them.
        self.top.0.compare_exchange(top, top + 1, Release, Relaxed).is_ok()
    }

    /// Pushes an item at the bottom.
    ///
    /// # Errors
    /// Returns the item if there is no room.
    ///
    /// # Safety
    /// The caller is the owner: no other thread pushes or pops meanwhile, and calls of an earlier
    /// owner happened before this one.
    #[inline]
    pub unsafe fn push(&self, item: T) -> Result<(), T> {
        // Relaxed: only the owner writes it.
        let bottom = self.bottom.0.load(Relaxed);
        // Acquire: the thief that advanced the top has finished reading the place that this push
        // reuses. C11: see the first reason in `claim`.
        let top = self.top.0.load(Acquire);
        if bottom - top >= self.places.len() as u64 {
            return Err(item);
        }
        // Relaxed: the store below publishes it.
        self.place(bottom).store(item.to_bits(), Relaxed);
        // Release: the thief that takes the item sees it, and what was written before the push.
        self.bottom.0.store(bottom + 1, Release);
        Ok(())
    }

    /// Pops the item that was pushed last; `None` if there is none.
    ///
    /// # Safety
    /// The caller is the owner, as for [`Deque::push`].
    #[inline]
    pub unsafe fn pop(&self) -> Option<T> {
        // Relaxed: only the owner writes it.
        let bottom = self.bottom.0.load(Relaxed);
        // Relaxed: an outdated top is at most the current one, and the current top is never above
        // this bottom, so a top equal to the bottom is current, and the deque is empty.
        if self.top.0.load(Relaxed) == bottom {
            return None;
        }
        let last = bottom - 1;
        // Release: a thief may read this bottom instead of the one that a push stored, and steal an
        // older item by it. The fence orders this store before the load: a thief that reads this
        // bottom after its own fence leaves the last item alone.
        self.bottom.0.store(last, Release);
        M::fence(SeqCst);
        let top = self.top.0.load(Relaxed);
        if top < last {
            // Relaxed: this thread pushed the item.
            return Some(T::from_bits(self.place(last).load(Relaxed)));
        }
        // Only one item is left, which thieves may want, or none.
        let item = (top == last && self.claim(top)).then(|| T::from_bits(self.place(last).load(Relaxed)));
        // Relaxed: the deque is empty now, so no thief steals anything on account of this bottom.
        self.bottom.0.store(bottom, Relaxed);
        item
    }

    /// Takes the oldest item, unless another thread does.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // Acquire: the claim that advanced the top comes before this thread's fence, so that an
        // owner with a later fence reads no older top. C11: see the second reason in `claim`.
        let top = self.top.0.load(Acquire);
        M::fence(SeqCst);
        // Acquire: see the item, and what its owner wrote before it.
        let bottom = self.bottom.0.load(Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // Relaxed: read before the claim, because the owner may reuse the place afterwards. If it
        // has already done so, the claim fails.
        let item = self.place(top).load(Relaxed);
        if self.claim(top) { Steal::Taken(T::from_bits(item)) } else { Steal::Lost }
    }
}
