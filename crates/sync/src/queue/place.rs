//! A place for an item, empty or not as its queue knows.

use baton_machine::{Machine, Slot};
use core::mem::MaybeUninit;

/// A place: a slot of the machine, so that a checker sees who is there at the wrong time.
#[repr(transparent)]
pub(super) struct Place<M: Machine, T: Send + 'static>(M::Slot<MaybeUninit<T>>);

// SAFETY: a place is used by one thread at a time, by the contracts of `put` and `get`, and hands its items, which may
// travel, from one to another.
unsafe impl<M: Machine, T: Send + 'static> Send for Place<M, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, T: Send + 'static> Sync for Place<M, T> {}

impl<M: Machine, T: Send + 'static> Place<M, T> {
    /// An empty place.
    pub(super) fn empty() -> Self {
        Place(Slot::new(MaybeUninit::uninit()))
    }

    /// Puts an item in.
    ///
    /// # Safety
    /// The place is empty and the caller's alone, and what was done with it before happened before.
    #[inline(always)]
    pub(super) unsafe fn put(&self, item: T) {
        // SAFETY: by contract.
        unsafe { self.0.write(|at| at.write(MaybeUninit::new(item))) };
    }

    /// Takes the item out.
    ///
    /// # Safety
    /// The place holds an item and is the caller's alone, and the write of the item happened before.
    #[inline(always)]
    pub(super) unsafe fn get(&self) -> T {
        // A write, for the checker: the place is empty afterwards, and the next to touch it must come after us.
        // SAFETY: by contract the place holds an item.
        unsafe { self.0.write(|at| at.read().assume_init()) }
    }
}
