//! Allocates and frees guest memory.

use crate::engine::current::{is_any, memory, with};
use core::alloc::Layout;
use core::ptr::NonNull;

/// Zeroed memory of the simulation's heap.
///
/// # Panics
/// If the heap is full.
pub(super) fn alloc(layout: Layout) -> NonNull<u8> {
    if layout.size() == 0 {
        return layout.dangling_ptr();
    }
    memory(|memory| {
        let Some((offset, used)) = memory.heap.take(layout) else {
            panic!("guest memory is full: {layout:?} does not fit; give the simulation more (Options::heap_bytes)")
        };
        let block = memory.arena.at(offset);
        if used {
            // SAFETY: the block is inside the heap, free, and as large as the layout.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    })
}

/// Frees memory that [`alloc`] returned.
pub(super) fn dealloc(memory: NonNull<u8>, layout: Layout) {
    // Memory that outlived its simulation stays mapped, because its heap no longer exists.
    if layout.size() == 0 || !is_any() {
        return;
    }
    with(|engine| {
        let offset = memory.as_ptr().addr().wrapping_sub(engine.guest.base);
        if offset < engine.guest.arena.size() {
            engine.forget_stores(offset, layout.size());
            engine.guest.heap.give(offset, layout);
        }
    });
}
