//! Work-stealing deque of Chase and Lev (SPAA 2005), bounded, with the fences of Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013).
//!
//! One thread, its owner, pushes and pops at the bottom; any number of others steal at the top. It is no queue: what the owner pops is
//! what it pushed last. It does not grow: an owner that finds it full does the item itself.

use crate::queue::QueueError;
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice, Word};
use core::marker::PhantomData;

/// One end, alone in its pair of cache lines.
#[repr(C, align(128))]
struct End<M: Machine>(M::Atomic<u64>);

/// The deque. Ends count the items that went by, and never wrap: an item a nanosecond takes centuries.
pub struct Deque<M: Machine, T: Word> {
    /// Written by the owner alone.
    bottom: End<M>,
    /// Moved on by what takes the oldest item.
    top: End<M>,
    places: OwnedSlice<M, M::Atomic<u64>>,
    items: PhantomData<fn(T) -> T>,
}

/// What came of a steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// The oldest item.
    Taken(T),
    /// There was none.
    Empty,
    /// Another thread took it first: there may be more.
    Lost,
}

impl<M: Machine, T: Word> Deque<M, T> {
    /// An empty deque for so many items, a power of two from 1 to 2^30.
    ///
    /// # Errors
    /// The capacity.
    pub fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        crate::queue::check_capacity(capacity)?;
        let end = || End(M::Atomic::new(0));
        let places = OwnedSlice::new(capacity, |_| M::Atomic::new(0));
        Ok(Deque { bottom: end(), top: end(), places, items: PhantomData })
    }

    fn place(&self, count: u64) -> &M::Atomic<u64> {
        &self.places[count as usize & (self.places.len() - 1)]
    }

    /// Takes the item at `top`, unless another thread does.
    fn claim(&self, top: u64) -> bool {
        // Release: the owner uses the place again only after our read of it, and a thief that reads this top has us before its fence.
        // C11: without the first an owner's later store could be read too early, which loom has no execution for; the second matters
        // where fences order no more than the standard says, and loom's order all that came before them.
        self.top.0.compare_exchange(top, top + 1, Release, Relaxed).is_ok()
    }

    /// Puts an item at the bottom, or gives it back if there is no room.
    ///
    /// # Errors
    /// The item.
    ///
    /// # Safety
    /// The caller is the owner: no other thread pushes or pops meanwhile, and the earlier owner's calls happened before this one.
    #[inline]
    pub unsafe fn push(&self, item: T) -> Result<(), T> {
        // Relaxed: the owner alone writes it.
        let bottom = self.bottom.0.load(Relaxed);
        // Acquire: the thief that moved the top on has read the place that we shall use. C11: see `claim`, the first reason.
        let top = self.top.0.load(Acquire);
        if bottom - top >= self.places.len() as u64 {
            return Err(item);
        }
        // Relaxed: the store below publishes it.
        self.place(bottom).store(item.to_bits(), Relaxed);
        // Release: who steals the item sees it, and what was written before the push.
        self.bottom.0.store(bottom + 1, Release);
        Ok(())
    }

    /// Takes the item that was pushed last.
    ///
    /// # Safety
    /// As [`Deque::push`].
    #[inline]
    pub unsafe fn pop(&self) -> Option<T> {
        // Relaxed: the owner alone writes it.
        let bottom = self.bottom.0.load(Relaxed);
        // Relaxed: an item that was there is there until the top moves, and the top does not pass a bottom that is as old as our last push.
        if self.top.0.load(Relaxed) == bottom {
            return None;
        }
        let last = bottom - 1;
        // Release: a thief may read this bottom instead of the one that a push stored, and steal an older item by it. The fence
        // orders it before the load: thieves that read it behind theirs do not touch the last item.
        self.bottom.0.store(last, Release);
        M::fence(SeqCst);
        let top = self.top.0.load(Relaxed);
        if top < last {
            // Relaxed: our own item.
            return Some(T::from_bits(self.place(last).load(Relaxed)));
        }
        // The last one, which thieves may want, or none any more.
        let item = (top == last && self.claim(top)).then(|| T::from_bits(self.place(last).load(Relaxed)));
        // Relaxed: the deque is empty with it, so that a thief steals nothing by it.
        self.bottom.0.store(bottom, Relaxed);
        item
    }

    /// Takes the oldest item, if no other thread does.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // Acquire: the claim that moved it comes before our fence, so that an owner whose fence comes later reads no older top. C11: see
        // `claim`, the second reason.
        let top = self.top.0.load(Acquire);
        M::fence(SeqCst);
        // Acquire: see the item, and what its owner wrote before it.
        let bottom = self.bottom.0.load(Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // Relaxed: read before the claim, as the owner may use the place again behind it. If it has done so already the claim fails.
        let item = self.place(top).load(Relaxed);
        if self.claim(top) { Steal::Taken(T::from_bits(item)) } else { Steal::Lost }
    }
}
