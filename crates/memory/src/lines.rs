//! Arrays with one entry for each line (or word) of the arena. They are reserved, not committed: the kernel gives
//! zeroed pages as they are touched, so an array over a large arena costs what is used of it.

use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// An array of `T`, zero at first.
pub struct Sparse<T> {
    at: NonNull<T>,
    len: usize,
}

impl<T: Copy> Sparse<T> {
    /// An array of `len` zeroes, or the system's reason why it cannot be reserved.
    ///
    /// # Safety
    /// All-zero bytes are a valid `T`.
    pub unsafe fn new(len: usize) -> std::io::Result<Sparse<T>> {
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: a fresh private mapping; the address is the kernel's choice.
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
    /// The host has no address space for another one.
    fn clone(&self) -> Sparse<T> {
        // SAFETY: this array is one of zeroes that were valid.
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
        // SAFETY: the mapping is ours, and no borrow of it is left.
        unsafe { libc::munmap(self.at.as_ptr().cast(), (self.len * size_of::<T>()).max(1)) };
    }
}

impl<T> Index<usize> for Sparse<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        assert!(i < self.len);
        // SAFETY: inside the mapping; zero bytes or what was written there are a T.
        unsafe { &*self.at.as_ptr().add(i) }
    }
}

impl<T> IndexMut<usize> for Sparse<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        assert!(i < self.len);
        // SAFETY: as above, and we are borrowed mutably.
        unsafe { &mut *self.at.as_ptr().add(i) }
    }
}

// SAFETY: an owned array.
unsafe impl<T: Send> Send for Sparse<T> {}
