//! The guest's heap: a free list for each size and alignment, from which the block that was freed
//! last is given first. The same calls give the same offsets.
//!
//! Small blocks are packed at 16 bytes as a real allocator packs them, so neighbours may share a line.

use std::alloc::Layout;
use std::collections::BTreeMap;

/// The sizes and alignments of blocks are multiples of this number of bytes.
const GRAIN: usize = 16;

/// The allocator of the arena's first part; blocks are named by their offsets.
pub(crate) struct Heap {
    next: usize,
    end: usize,
    free: BTreeMap<(usize, usize), Vec<usize>>,
    /// The number of blocks that were given out and not given back, without those that are kept as
    /// long as the simulation.
    pub(crate) live: usize,
}

/// The size and the alignment of the block for a layout.
fn class(layout: Layout) -> (usize, usize) {
    let align = layout.align().max(GRAIN);
    (layout.size().max(1).next_multiple_of(align), align)
}

impl Heap {
    /// A heap of the arena's bytes from offset `start` to offset `end`.
    pub(crate) fn new(start: usize, end: usize) -> Heap {
        Heap { next: start, end, free: BTreeMap::new(), live: 0 }
    }

    /// Gives a block. Returns its offset and whether it was used before and must be zeroed; `None`
    /// if the heap is full.
    pub(crate) fn take(&mut self, layout: Layout) -> Option<(usize, bool)> {
        let class = class(layout);
        if let Some(offset) = self.free.get_mut(&class).and_then(Vec::pop) {
            self.live += 1;
            return Some((offset, true));
        }
        let offset = self.next.next_multiple_of(class.1);
        let end = offset.checked_add(class.0)?;
        if end > self.end {
            return None;
        }
        self.next = end;
        self.live += 1;
        Some((offset, false))
    }

    /// Like [`Heap::take`], for a block of the kernel that no guest holds: it is never given back,
    /// and does not count as live.
    pub(crate) fn keep(&mut self, layout: Layout) -> Option<usize> {
        let (offset, _) = self.take(layout)?;
        self.live -= 1;
        Some(offset)
    }

    /// The offset behind the last block that was ever given out.
    pub(crate) fn given(&self) -> usize {
        self.next
    }

    /// Takes a block back that [`Heap::take`] gave for the same layout.
    pub(crate) fn give(&mut self, offset: usize, layout: Layout) {
        self.live -= 1;
        self.free.entry(class(layout)).or_default().push(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_used_again() {
        let mut heap = Heap::new(64, 4096);
        let small = Layout::new::<u32>();
        let line = Layout::from_size_align(24, 128).unwrap();
        let (a, fresh) = heap.take(small).unwrap();
        let (b, _) = heap.take(small).unwrap();
        assert_eq!((a, b, fresh), (64, 80, false));
        let (c, _) = heap.take(line).unwrap();
        assert!(c.is_multiple_of(128) && c >= 96);
        heap.give(a, small);
        assert_eq!(heap.take(small), Some((a, true)));
        assert_eq!(heap.take(Layout::from_size_align(8192, 8).unwrap()), None);
        let live = heap.live;
        assert_ne!(heap.keep(line), Some(c));
        assert_eq!(heap.live, live, "the kernel's own keeps no memory mapped behind its simulation");
        assert_eq!(heap.live, 3);
    }
}
