//! Values that several threads share, with a count of the references to them.

use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned};
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A value in the machine's memory that is freed with its last reference. Value and count are one
/// allocation. The count is a cell of the machine, so that checkers see which accesses it orders.
pub struct Shared<M: Machine, T> {
    at: NonNull<Counted<M, T>>,
    owned: PhantomData<Counted<M, T>>,
}

struct Counted<M: Machine, T> {
    references: M::Atomic<u32>,
    value: T,
}

// SAFETY: as for an `Arc`: any thread with a reference may use the value, and the last reference
// drops it.
unsafe impl<M: Machine, T: Send + Sync> Send for Shared<M, T> {}
// SAFETY: as above.
unsafe impl<M: Machine, T: Send + Sync> Sync for Shared<M, T> {}

impl<M: Machine, T> Shared<M, T> {
    /// Makes a value with one reference, which the caller gets.
    pub fn new(value: T) -> Self {
        let at = Owned::<M, _>::new(Counted { references: M::Atomic::new(1), value }).into_raw();
        // SAFETY: an owned value has an address that is not null.
        Shared { at: unsafe { NonNull::new_unchecked(at) }, owned: PhantomData }
    }

    /// The value's address.
    #[inline]
    pub fn address(&self) -> *const T {
        &raw const **self
    }

    /// Whether there is another reference, as far as the calling thread knows.
    pub(crate) fn is_shared(&self) -> bool {
        // Acquire: a thread that has the only reference sees what the others did.
        self.counted().references.load(Acquire) > 1
    }

    #[inline]
    fn counted(&self) -> &Counted<M, T> {
        // SAFETY: the value is not freed while this reference is counted.
        unsafe { self.at.as_ref() }
    }
}

impl<M: Machine, T> Deref for Shared<M, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<M: Machine, T> Clone for Shared<M, T> {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: the value cannot be freed meanwhile, because this reference keeps it.
        self.counted().references.fetch_add(1, Relaxed);
        Shared { at: self.at, owned: PhantomData }
    }
}

impl<M: Machine, T> Drop for Shared<M, T> {
    #[inline]
    fn drop(&mut self) {
        let references = &self.counted().references;
        // Acquire: if this is the only reference, all accesses through the others come before the
        // value is freed. No thread can add a reference then.
        if references.load(Acquire) == 1 {
            // SAFETY: this is the last reference.
            return drop(unsafe { Owned::<M, _>::from_raw(self.at.as_ptr()) });
        }
        // Release: accesses through this reference come before the value is freed.
        if references.fetch_add(u32::MAX, Release) == 1 {
            // Acquire: all accesses through the other references come before the value is freed.
            references.load(Acquire);
            // SAFETY: as above.
            drop(unsafe { Owned::<M, _>::from_raw(self.at.as_ptr()) });
        }
    }
}
