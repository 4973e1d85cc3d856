//! Memory of the library's own.
//!
//! The program's allocator may be what calls the library: it takes a mutex, whose first use
//! allocates a queue node. So nothing here calls `malloc`: pages come from the kernel, blocks whose
//! sizes are powers of two are cut from them and kept on free lists. The allocator takes no lock,
//! so that a fork or a signal handler never finds it locked.

use crate::base::stack::BlockStack;
use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the allocator asks of the kernel at a time.
const CHUNK: usize = 256 << 10;
/// Blocks have 16 bytes to 32 KiB. A larger allocation is a mapping of its own.
const SMALLEST: usize = 16;
const CLASSES: usize = 12;
const LARGEST: usize = SMALLEST << (CLASSES - 1);
const PAGE: usize = 4096;

/// The allocator of all Rust code in this library.
pub struct Private {
    free: [BlockStack; CLASSES],
    /// The address of the next free byte of the current chunk; a multiple of [`CHUNK`] if the chunk
    /// is used up or there is none.
    next: AtomicUsize,
}

#[cfg_attr(not(test), global_allocator)]
#[cfg_attr(test, allow(dead_code))]
pub static PRIVATE: Private = Private::new();

impl Private {
    const fn new() -> Private {
        Private { free: [const { BlockStack::new() }; CLASSES], next: AtomicUsize::new(0) }
    }

    fn class(layout: Layout) -> Option<usize> {
        let size = layout.size().max(layout.align()).max(SMALLEST);
        (size <= LARGEST).then(|| (size.next_power_of_two() / SMALLEST).trailing_zeros() as usize)
    }

    /// Cuts a block of `size` bytes, a power of two, off the current chunk. The block is aligned to
    /// its size, because a chunk is aligned to its own.
    fn cut(&self, size: usize) -> *mut u8 {
        let mut next = self.next.load(Ordering::Relaxed);
        loop {
            let at = next.next_multiple_of(size);
            if next.is_multiple_of(CHUNK) || at + size > next.next_multiple_of(CHUNK) {
                let Some(chunk) = map_aligned(CHUNK) else { return core::ptr::null_mut() };
                // The chunk's first 16 bytes stay unused, so that `next` is a multiple of CHUNK
                // only when the chunk is used up.
                match self.next.compare_exchange(next, chunk + SMALLEST, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => next = chunk + SMALLEST,
                    Err(now) => {
                        unmap(chunk, CHUNK);
                        next = now;
                    }
                }
                continue;
            }
            match self.next.compare_exchange_weak(next, at + size, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return core::ptr::with_exposed_provenance_mut(at),
                Err(now) => next = now,
            }
        }
    }
}

// SAFETY: a block of a class is at least as large and as aligned as the layout asks, comes from
// memory that only this allocator has, and is given out again only after it was freed. A large
// layout gets a mapping of its own.
unsafe impl GlobalAlloc for Private {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Self::class(layout) {
            Some(class) => self.free[class].pop().unwrap_or_else(|| self.cut(SMALLEST << class)),
            None if layout.align() <= PAGE => map(layout.size().next_multiple_of(PAGE))
                .map_or(core::ptr::null_mut(), core::ptr::with_exposed_provenance_mut),
            None => core::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Self::class(layout) {
            // SAFETY: `alloc` gave this block out for the same layout, so it is of this class; its
            // owner uses it no more.
            Some(class) => unsafe { self.free[class].push(block) },
            None => unmap(block.addr(), layout.size().next_multiple_of(PAGE)),
        }
    }
}

/// Fresh pages, zeroed.
fn map(bytes: usize) -> Option<usize> {
    crate::base::errno::kept(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address that the kernel chooses touches no memory
        // in use.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        (at != libc::MAP_FAILED).then(|| at.expose_provenance())
    })
}

/// Maps fresh pages at an address that is a multiple of their size.
fn map_aligned(bytes: usize) -> Option<usize> {
    let at = map(2 * bytes)?;
    let start = at.next_multiple_of(bytes);
    unmap(at, start - at);
    unmap(start + bytes, at + bytes - start);
    Some(start)
}

/// Gives a range of pages back to the kernel.
fn unmap(at: usize, bytes: usize) {
    if bytes > 0 {
        // SAFETY: the range came from `map`, and no thread uses it any more.
        crate::base::errno::kept(|| unsafe { libc::munmap(core::ptr::with_exposed_provenance_mut(at), bytes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_used_again() {
        let private = Private::new();
        for size in [1, 16, 24, 128, 4000, 32 << 10, 100 << 10] {
            for align in [1, 16, 128] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the layout's size is not zero; each block is written inside its bounds,
                // then given back.
                unsafe {
                    let (a, b) = (private.alloc(layout), private.alloc(layout));
                    assert!(a.addr().is_multiple_of(align) && b.addr().is_multiple_of(align));
                    assert!(a.addr().abs_diff(b.addr()) >= size);
                    a.write_bytes(1, size);
                    b.write_bytes(2, size);
                    assert_eq!((*a.add(size - 1), *b), (1, 2));
                    private.dealloc(b, layout);
                    if size <= LARGEST {
                        assert_eq!(private.alloc(layout), b);
                    }
                    private.dealloc(a, layout);
                }
            }
        }
    }

    #[test]
    fn chunks_follow_each_other() {
        let private = Private::new();
        let layout = Layout::from_size_align(32 << 10, 8).unwrap();
        // SAFETY: the layout's size is not zero.
        let mut blocks: Vec<_> = (0..64).map(|_| unsafe { private.alloc(layout) }.addr()).collect();
        blocks.sort();
        assert!(blocks[0] != 0 && blocks.windows(2).all(|w| w[1] - w[0] >= layout.size()));
    }
}
