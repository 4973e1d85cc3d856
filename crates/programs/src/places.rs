//! Places for values that threads share without a lock.

use baton_machine::{Machine, OwnedSlice, Slot};

/// Data that threads share without a lock, by the program's own order or by the promise of an
/// atomic queue with flows: each value has a place of its own.
pub(crate) struct Places<M: Machine, T: 'static>(pub(crate) OwnedSlice<M, M::Slot<T>>);

// SAFETY: the thread that reads or writes a place promises that the accesses are ordered.
unsafe impl<M: Machine, T: Send> Sync for Places<M, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, T: Send> Send for Places<M, T> {}

impl<M: Machine, T: Copy + Send + 'static> Places<M, T> {
    pub(crate) fn new(len: usize, mut value: impl FnMut(usize) -> T) -> Self {
        Places(OwnedSlice::new(len, |at| M::Slot::new(value(at))))
    }

    /// Reads a place.
    ///
    /// # Safety
    /// No thread writes the place meanwhile, and the last write happened before.
    pub(crate) unsafe fn get(&self, at: usize) -> T {
        // SAFETY: the caller promises that no thread writes the place meanwhile.
        unsafe { self.0[at].read(|value| *value) }
    }

    /// Writes a place.
    ///
    /// # Safety
    /// No other thread accesses the place meanwhile, and earlier accesses happened before.
    pub(crate) unsafe fn set(&self, at: usize, value: T) {
        // SAFETY: the caller promises that no other thread accesses the place meanwhile.
        unsafe { self.0[at].write(|place| *place = value) }
    }
}
