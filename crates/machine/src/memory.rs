//! Guest memory: values, and rows of values, that live where the machine can see them.

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
        // SAFETY: alloc returned memory for one T, and no other thread has it.
        unsafe { at.write(value) };
        Owned { at, machine: PhantomData }
    }

    /// The value's address, which owns it from now on: [`from_raw`](Owned::from_raw) takes it back.
    pub fn into_raw(self) -> *mut T {
        core::mem::ManuallyDrop::new(self).at.as_ptr()
    }

    /// The owner of a value again.
    ///
    /// # Safety
    /// `at` came from [`into_raw`](Owned::into_raw) on this machine and is not used as an owner any more.
    pub unsafe fn from_raw(at: *mut T) -> Self {
        // SAFETY: by contract it is the address of a value.
        Owned { at: unsafe { NonNull::new_unchecked(at) }, machine: PhantomData }
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
        // SAFETY: the owner goes, so no thread uses the value any more; alloc had the same layout.
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

/// A row of values in the machine's own memory: as [`Owned`], for a length that is known at run time only.
pub struct OwnedSlice<M: Machine, T> {
    at: NonNull<T>,
    len: usize,
    machine: PhantomData<(M, T)>,
}

impl<M: Machine, T> OwnedSlice<M, T> {
    /// Puts `len` values into the machine's memory, made in order of their index.
    ///
    /// # Panics
    /// If the row would be larger than `isize::MAX` bytes.
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
        // SAFETY: the owner goes, so no thread uses the values any more; alloc had the same layout.
        unsafe {
            NonNull::slice_from_raw_parts(self.at, self.len).drop_in_place();
            M::dealloc(self.at.cast(), Self::layout(self.len));
        }
    }
}

// SAFETY: OwnedSlice is a box: it may go where its values may go.
unsafe impl<M: Machine, T: Send> Send for OwnedSlice<M, T> {}
// SAFETY: a shared OwnedSlice only gives out shared references to its values.
unsafe impl<M: Machine, T: Sync> Sync for OwnedSlice<M, T> {}
