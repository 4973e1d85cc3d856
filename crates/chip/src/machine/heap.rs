//! Allocates and frees guest memory.

use crate::engine::current::{is_any, with};
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
    with(|engine| {
        let Some((offset, used)) = engine.guest.heap.take(layout) else {
            panic!("guest memory is full: {layout:?} does not fit; give the simulation more (Options::heap_bytes)")
        };
        let memory = engine.guest.arena.at(offset);
        if used {
            // SAFETY: the block is inside the heap, free, and as large as the layout.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
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
