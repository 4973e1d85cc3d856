//! A slot for an item. Its queue knows whether it is empty.

use baton_machine::{Machine, Slot};
use core::mem::MaybeUninit;

/// A slot of the machine, so that a checker reports an access at the wrong time.
#[repr(transparent)]
pub(super) struct ItemSlot<M: Machine, T: Send + 'static>(M::Slot<MaybeUninit<T>>);

// SAFETY: a slot is used by one thread at a time, by the contracts of `put` and `get`, and hands its items, which may
// travel, from one to another.
unsafe impl<M: Machine, T: Send + 'static> Send for ItemSlot<M, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, T: Send + 'static> Sync for ItemSlot<M, T> {}

impl<M: Machine, T: Send + 'static> ItemSlot<M, T> {
    /// An empty slot.
    pub(super) fn empty() -> Self {
        ItemSlot(Slot::new(MaybeUninit::uninit()))
    }

    /// Puts an item in.
    ///
    /// # Safety
    /// The slot is empty and the caller's alone, and what was done with it before happened before.
    #[inline(always)]
    pub(super) unsafe fn put(&self, item: T) {
        // SAFETY: by contract.
        unsafe { self.0.write(|at| at.write(MaybeUninit::new(item))) };
    }

    /// Takes the item out.
    ///
    /// # Safety
    /// The slot holds an item and is the caller's alone, and the write of the item happened before.
    #[inline(always)]
    pub(super) unsafe fn get(&self) -> T {
        // A write, for the checker: the slot is empty afterwards, and the next to touch it must come after us.
        // SAFETY: by contract the slot holds an item.
        unsafe { self.0.write(|at| at.read().assume_init()) }
    }
}
