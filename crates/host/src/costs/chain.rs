//! A chain of loads, where each load's address is the value that the previous load returned. Loads
//! cannot overlap, so the time per load is a latency.

use std::cell::Cell;
use std::hint::black_box;

/// Cells, each on a cache line of its own. Each cell holds the number of the next cell, in one
/// random cycle over all of them.
pub(super) struct Ring {
    memory: *mut u8,
    bytes: usize,
    stride: usize,
    /// The position of the chase. The next chase continues there, because cells that were visited
    /// recently would be in a cache.
    at: Cell<usize>,
}

impl Ring {
    /// Maps the cells and links them.
    pub(super) fn new(cells: usize, stride: usize) -> Ring {
        let bytes = cells * stride;
        // SAFETY: an anonymous private mapping, checked below; the advice changes no content.
        let memory = unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(memory, libc::MAP_FAILED, "no {bytes} bytes of memory to measure with");
            libc::madvise(memory, bytes, libc::MADV_HUGEPAGE);
            memory.cast::<u8>()
        };
        let ring = Ring { memory, bytes, stride, at: Cell::new(0) };
        // Sattolo's shuffle gives one cycle over all cells.
        let mut order: Vec<u32> = (0..cells as u32).collect();
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        for i in (1..cells).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            order.swap(i, (random % i as u64) as usize);
        }
        for (i, next) in order.iter().enumerate() {
            // SAFETY: cell i lies inside the mapping, which is aligned for it.
            unsafe { ring.cell(i).write(*next as usize * stride) };
        }
        ring
    }

    /// The address of cell number `i`.
    pub(super) fn cell(&self, i: usize) -> *mut usize {
        self.memory.wrapping_add(i * self.stride).cast()
    }

    /// Follows the chain for `steps` cells.
    pub(super) fn chase(&self, steps: u64) {
        let mut at = self.at.get();
        for _ in 0..steps {
            // SAFETY: every cell holds the offset of another cell of the mapping.
            at = unsafe { self.memory.add(at).cast::<usize>().read() };
        }
        self.at.set(black_box(at));
    }
}

// SAFETY: the mapping belongs to the ring alone. Threads that share the ring agree on which of them
// uses which cell when, as for any memory behind a raw pointer. The position of the chase is not
// shared: only the owner of the ring chases.
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_one_cycle() {
        let ring = Ring::new(1000, 64);
        let (mut at, mut steps) = (0usize, 0);
        loop {
            // SAFETY: every cell holds the offset of another cell of the mapping, as in `chase`.
            at = unsafe { ring.memory.add(at).cast::<usize>().read() };
            steps += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(steps, 1000);
    }
}
