//! Values that are freed while guests refer to them.

use baton_machine::{Machine, Owned, Slot};

/// A value in guest memory that one of the guests frees.
pub(super) struct Mortal<M: Machine, T: 'static> {
    owner: M::Slot<Option<Owned<M, T>>>,
    at: *const T,
}

// SAFETY: only one guest takes the owner out; the value behind the pointer may be shared.
unsafe impl<M: Machine, T: Send + Sync + 'static> Sync for Mortal<M, T> {}
// SAFETY: only one guest takes the owner out; the value behind the pointer may be sent.
unsafe impl<M: Machine, T: Send + Sync + 'static> Send for Mortal<M, T> {}

impl<M: Machine, T: 'static> Mortal<M, T> {
    pub(super) fn new(value: T) -> Self {
        let owner = Owned::<M, T>::new(value);
        Mortal { at: owner.as_ptr(), owner: M::Slot::new(Some(owner)) }
    }

    /// Returns the value.
    ///
    /// # Safety
    /// The value is not freed before the reference has been used for the last time.
    pub(super) unsafe fn alive(&self) -> &T {
        // SAFETY: the caller promises that the value is alive.
        unsafe { &*self.at }
    }

    /// Frees the value.
    ///
    /// # Safety
    /// This is called once, and no guest uses the value afterwards.
    pub(super) unsafe fn free(&self) {
        // SAFETY: this is called once, so no other thread accesses the slot.
        drop(unsafe { self.owner.write(|owner| (*owner).take()) });
    }

    /// Whether the value was freed.
    ///
    /// # Safety
    /// The guests have ended.
    pub(super) unsafe fn is_freed(&self) -> bool {
        // SAFETY: no guest accesses the slot any more.
        unsafe { self.owner.read(|owner| (*owner).is_none()) }
    }
}
