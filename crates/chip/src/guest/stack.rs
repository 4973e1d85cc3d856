//! Stacks of coroutines. They lie in the arena behind its heap, each above a guard page that is
//! never made accessible.

use super::arena::{Arena, PAGE};
use corosensei::stack::{Stack, StackPointer};
use std::io;
use std::sync::Arc;

/// The number of bytes of a stack, its guard page included.
pub(crate) const STACK: usize = 256 * 1024;

/// A stack in the arena.
pub(crate) struct GuestStack {
    arena: Arc<Arena>,
    /// The offset of the stack's lowest byte, which is its guard page's.
    pub(crate) offset: usize,
}

impl GuestStack {
    /// Makes the stack at `offset` accessible, without its guard page. An earlier thread may have
    /// used the same stack.
    pub(crate) fn open(arena: &Arc<Arena>, offset: usize) -> io::Result<GuestStack> {
        arena.open(offset + PAGE, STACK - PAGE)?;
        Ok(GuestStack { arena: arena.clone(), offset })
    }
}

// SAFETY: the lowest page of the range is never made accessible, and the rest is larger than the
// smallest stack that a coroutine may have. The arena stays mapped as long as the stack holds its
// reference count.
unsafe impl Stack for GuestStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.arena.start() + self.offset + STACK).expect("a mapping is not at zero")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.arena.start() + self.offset).expect("a mapping is not at zero")
    }
}
