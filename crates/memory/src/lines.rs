//! Arrays with one entry for each line (or word) of the arena. They are reserved, not committed:
//! the kernel gives zeroed pages as they are touched, so an array over a large arena takes memory
//! only for the entries that are used.

use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// An array of `T`, zero at first.
pub struct Sparse<T> {
    at: NonNull<T>,
    len: usize,
}

impl<T: Copy> Sparse<T> {
    /// Reserves an array of `len` zeroes. Fails with the operating system's reason.
    ///
    /// # Safety
    /// All-zero bytes are a valid `T`.
    pub unsafe fn new(len: usize) -> std::io::Result<Sparse<T>> {
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: the call asks for a new private mapping at an address that the kernel chooses, so
        // it touches no memory that is in use.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        match NonNull::new(at.cast::<T>()) {
            Some(at) if at.as_ptr().cast() != libc::MAP_FAILED => Ok(Sparse { at, len }),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

impl<T: Copy> Clone for Sparse<T> {
    /// # Panics
    /// Panics if the host has no address space for the copy.
    fn clone(&self) -> Sparse<T> {
        // SAFETY: `self` was made by `Sparse::new`, whose caller promised that zero bytes are a `T`.
        let copy = unsafe { Sparse::new(self.len) };
        let mut copy = copy.unwrap_or_else(|error| panic!("no address space for a copy: {error}"));
        for i in 0..self.len {
            copy[i] = self[i];
        }
        copy
    }
}

impl<T> Drop for Sparse<T> {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no borrow of it is left when it is dropped.
        unsafe { libc::munmap(self.at.as_ptr().cast(), (self.len * size_of::<T>()).max(1)) };
    }
}

impl<T> Index<usize> for Sparse<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        assert!(i < self.len);
        // SAFETY: the assertion keeps the entry inside the mapping, and its bytes are zero or a `T`
        // that was written there.
        unsafe { &*self.at.as_ptr().add(i) }
    }
}

impl<T> IndexMut<usize> for Sparse<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        assert!(i < self.len);
        // SAFETY: the entry is inside the mapping and a valid `T`, as in `index`; `self` is
        // borrowed mutably, so no other reference to the entry exists.
        unsafe { &mut *self.at.as_ptr().add(i) }
    }
}

// SAFETY: the array owns its mapping, so it can move to another thread wherever its `T` can.
unsafe impl<T: Send> Send for Sparse<T> {}
