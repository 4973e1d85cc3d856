//! Guest memory: single values, and slices, in memory that the machine sees.

use crate::Machine;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A value in the machine's own memory, dropped and freed with its owner like a `Box`. Threads
/// share it by reference.
pub struct Owned<M: Machine, T> {
    at: NonNull<T>,
    machine: PhantomData<(M, T)>,
}

impl<M: Machine, T> Owned<M, T> {
    /// Moves `value` into the machine's memory, aligned as its type requires.
    pub fn new(value: T) -> Self {
        let at = M::alloc(Layout::new::<T>()).cast::<T>();
        // SAFETY: alloc returned memory for one T, and no other thread has it.
        unsafe { at.write(value) };
        Owned { at, machine: PhantomData }
    }

    /// Gives up ownership and returns the value's address; [`from_raw`](Owned::from_raw) takes
    /// ownership back.
    pub fn into_raw(self) -> *mut T {
        core::mem::ManuallyDrop::new(self).at.as_ptr()
    }

    /// Takes ownership of a value again.
    ///
    /// # Safety
    /// `at` came from [`into_raw`](Owned::into_raw) on this machine, and no other owner is made of
    /// it.
    pub unsafe fn from_raw(at: *mut T) -> Self {
        // SAFETY: by contract `at` is the address of a value, which is not null.
        Owned { at: unsafe { NonNull::new_unchecked(at) }, machine: PhantomData }
    }

    /// Returns the value's address in the machine's memory.
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
        // SAFETY: the owner is being dropped, so no thread uses the value any more; `alloc` was
        // called with the same layout.
        unsafe {
            self.at.drop_in_place();
            M::dealloc(self.at.cast(), Layout::new::<T>());
        }
    }
}

// SAFETY: Owned is like a box: it may move to another thread if its value may.
unsafe impl<M: Machine, T: Send> Send for Owned<M, T> {}
// SAFETY: a shared Owned gives out only shared references to its value.
unsafe impl<M: Machine, T: Sync> Sync for Owned<M, T> {}

/// A slice in the machine's own memory: [`Owned`] for a length that is known only at run time.
pub struct OwnedSlice<M: Machine, T> {
    at: NonNull<T>,
    len: usize,
    machine: PhantomData<(M, T)>,
}

impl<M: Machine, T> OwnedSlice<M, T> {
    /// Allocates `len` values in the machine's memory, and calls `value` with each index in order
    /// to create them.
    ///
    /// # Panics
    /// Panics if the slice would be larger than `isize::MAX` bytes.
    pub fn new(len: usize, mut value: impl FnMut(usize) -> T) -> Self {
        let at = M::alloc(Self::layout(len)).cast::<T>();
        for i in 0..len {
            // SAFETY: alloc returned memory for `len` values, and no other thread has it.
            unsafe { at.add(i).write(value(i)) };
        }
        OwnedSlice { at, len, machine: PhantomData }
    }

    fn layout(len: usize) -> Layout {
        Layout::array::<T>(len).expect("a row of values fits into memory")
    }
}

impl<M: Machine, T> Deref for OwnedSlice<M, T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the values were written in `new` and live until `drop`.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl<M: Machine, T> Drop for OwnedSlice<M, T> {
    fn drop(&mut self) {
        // SAFETY: the owner is being dropped, so no thread uses the values any more; `alloc` was
        // called with the same layout.
        unsafe {
            NonNull::slice_from_raw_parts(self.at, self.len).drop_in_place();
            M::dealloc(self.at.cast(), Self::layout(self.len));
        }
    }
}

// SAFETY: OwnedSlice is like a box: it may move to another thread if its values may.
unsafe impl<M: Machine, T: Send> Send for OwnedSlice<M, T> {}
// SAFETY: a shared OwnedSlice gives out only shared references to its values.
unsafe impl<M: Machine, T: Sync> Sync for OwnedSlice<M, T> {}
