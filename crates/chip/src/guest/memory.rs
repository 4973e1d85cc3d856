//! Guest memory as the simulation sees it: addresses, lines, and which threads watch and wrote what.

use super::arena::{Arena, PAGE};
use super::heap::Heap;
use baton_memory::Line;
use baton_memory::lines::Sparse;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The arena with its heap, and what is recorded of its lines and cells.
pub(crate) struct GuestMemory {
    pub(crate) arena: Arc<Arena>,
    /// The arena's first address.
    pub(crate) base: usize,
    /// The binary logarithm of the bytes in a line.
    pub(crate) line_shift: u32,
    pub(crate) heap: Heap,
    /// For each line, the first thread in the list of its watchers, plus one; 0 for none.
    pub(crate) watchers: Sparse<u32>,
    /// For each eight bytes, the thread that wrote there last, plus one; 0 for none.
    pub(crate) writers: Sparse<u32>,
    /// The offset of the words that all guests share; `None` if no guest has asked for them.
    pub(crate) shared: Option<usize>,
    /// The cells that a single thread polls, by offset, each with that thread.
    pub(crate) polled: BTreeMap<usize, u32>,
}

impl GuestMemory {
    /// Reserves an arena that holds the kernel's memory up to `kernel_end`, then a heap of
    /// `heap_bytes` bytes, then `stacks` bytes of stacks.
    pub(crate) fn reserve(
        kernel_end: usize,
        heap_bytes: usize,
        stacks: usize,
        line_shift: u32,
    ) -> io::Result<GuestMemory> {
        let heap_end = kernel_end + heap_bytes.next_multiple_of(PAGE);
        let arena = Arena::reserve(heap_end + stacks)?;
        arena.open(0, heap_end)?;
        let lines = (arena.size() >> line_shift) + 1;
        // SAFETY: both tables are arrays of integers, for which all-zero bytes are valid.
        let (watchers, writers) = unsafe { (Sparse::new(lines)?, Sparse::new(arena.size() / 8 + 1)?) };
        let heap = Heap::new(kernel_end, heap_end);
        Ok(GuestMemory {
            base: arena.start(),
            arena,
            line_shift,
            heap,
            watchers,
            writers,
            shared: None,
            polled: BTreeMap::new(),
        })
    }

    /// The number of lines of the arena, plus one for the address at its end.
    pub(crate) fn lines(&self) -> usize {
        (self.arena.size() >> self.line_shift) + 1
    }

    /// The offset of a guest address.
    ///
    /// # Panics
    /// If the address is not guest memory: a cell on the host's heap or stack has no place
    /// on the chip.
    #[inline(always)]
    pub(crate) fn offset_of(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.arena.size() {
            outside_memory(address);
        }
        offset
    }

    /// Checks that code outside of guests may use the cell at this address. Only the host thread that
    /// made the simulation uses the simulation's memory, so that a cell in that memory has no other
    /// user meanwhile.
    ///
    /// # Panics
    /// If the address is not in this memory.
    #[inline]
    pub(crate) fn check_outside(&self, address: usize) {
        if address.wrapping_sub(self.base) >= self.arena.size() {
            not_of_this_simulation(address);
        }
    }

    /// The line in which an offset lies.
    #[inline(always)]
    pub(crate) fn line(&self, offset: usize) -> Line {
        Line((offset >> self.line_shift) as u32)
    }

    /// The line in which a guest address lies.
    ///
    /// # Panics
    /// As [`GuestMemory::offset_of`].
    #[inline(always)]
    pub(crate) fn line_of(&self, address: usize) -> Line {
        self.line(self.offset_of(address))
    }

    /// Whether a thread watches the line.
    #[inline(always)]
    pub(crate) fn is_watched(&self, line: Line) -> bool {
        self.watchers[line.0 as usize] != 0
    }
}

#[cold]
fn outside_memory(address: usize) -> ! {
    panic!(
        "a guest used a cell at {address:#x}, which is not guest memory: put it into baton_machine::Owned, or onto a \
         guest thread's stack"
    )
}

#[cold]
fn not_of_this_simulation(address: usize) -> ! {
    panic!(
        "code outside of guests used a cell at {address:#x}, which is not in the memory of its simulation: make the cell \
         in the same simulation, and put it into baton_machine::Owned before it is used"
    )
}
