//! The arena: address space reserved once, of which the heap and the stacks get their parts.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// The size of the host's page, or a multiple of it; guard pages and stacks are multiples of it.
pub(crate) const PAGE: usize = 4096;

/// A reservation of address space. It is unmapped when its last user, the engine or a stack, is
/// gone; [`Arena::keep`] leaves its first bytes mapped for ever.
pub(crate) struct Arena {
    start: NonNull<u8>,
    size: usize,
}

impl Arena {
    /// Reserves `size` bytes of address space, which cannot be accessed before [`Arena::open`].
    pub(crate) fn reserve(size: usize) -> io::Result<Arc<Arena>> {
        let size = size.next_multiple_of(PAGE);
        // SAFETY: the call makes a fresh private mapping, at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Arc::new(Arena { start, size })),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Makes `bytes` bytes from `offset` on accessible; both numbers are multiples of [`PAGE`].
    pub(crate) fn open(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE) && offset + bytes <= self.size);
        // SAFETY: the range lies inside the arena's own mapping.
        let failed = unsafe {
            libc::mprotect(self.start.as_ptr().add(offset).cast(), bytes, libc::PROT_READ | libc::PROT_WRITE)
        } != 0;
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Leaves the first `bytes` bytes mapped for ever, up to the end of their last page, and unmaps
    /// the rest.
    ///
    /// # Safety
    /// Nothing may refer to the bytes that are unmapped.
    pub(crate) unsafe fn keep(self: Arc<Self>, bytes: usize) {
        let kept = bytes.next_multiple_of(PAGE).min(self.size);
        // SAFETY: the range lies inside the arena's own mapping, and nothing refers to it, as the
        // caller promises.
        unsafe { libc::munmap(self.start.as_ptr().add(kept).cast(), self.size - kept) };
        std::mem::forget(self);
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn start(&self) -> usize {
        self.start.as_ptr().expose_provenance()
    }

    /// The byte at `offset`.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.size);
        // SAFETY: the byte lies inside the mapping, or one past its end.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to the arena, and no user is left, since each held a
        // reference count.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

// SAFETY: the arena only names an address range; code that accesses the memory must itself keep
// others from accessing it at the same time.
unsafe impl Send for Arena {}
// SAFETY: as for `Send`.
unsafe impl Sync for Arena {}
