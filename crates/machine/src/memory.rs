//! Guest memory: values that live where the machine can see them.

use crate::Machine;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A value in the machine's own memory, dropped and given back with its owner. Share it by reference.
pub struct Owned<M: Machine, T> {
    at: NonNull<T>,
    machine: PhantomData<(M, T)>,
}

impl<M: Machine, T> Owned<M, T> {
    /// Puts `value` into the machine's memory, at the alignment that its type asks for.
    pub fn new(value: T) -> Self {
        let at = M::alloc(Layout::new::<T>()).cast::<T>();
        // SAFETY: alloc returned memory for one T, and nobody else has it.
        unsafe { at.write(value) };
        Owned { at, machine: PhantomData }
    }

    /// Where the value is, in the machine's memory.
    pub fn as_ptr(&self) -> *mut T {
        self.at.as_ptr()
    }
}

impl<M: Machine, T> Deref for Owned<M, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value was written in `new` and lives until `drop`.
        unsafe { self.at.as_ref() }
    }
}

impl<M: Machine, T> Drop for Owned<M, T> {
    fn drop(&mut self) {
        // SAFETY: the owner goes, so nobody uses the value any more; alloc had the same layout.
        unsafe {
            self.at.drop_in_place();
            M::dealloc(self.at.cast(), Layout::new::<T>());
        }
    }
}

// SAFETY: Owned is a box: it may go where its value may go.
unsafe impl<M: Machine, T: Send> Send for Owned<M, T> {}
// SAFETY: a shared Owned only gives out shared references to its value.
unsafe impl<M: Machine, T: Sync> Sync for Owned<M, T> {}
