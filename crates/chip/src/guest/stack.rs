//! Stacks of coroutines, in the arena behind its heap, each above a guard page that is never opened.

use super::arena::{Arena, PAGE};
use corosensei::stack::{Stack, StackPointer};
use std::io;
use std::sync::Arc;

/// Bytes of a stack, its guard page included.
pub(crate) const STACK: usize = 256 * 1024;

/// A stack in the arena.
pub(crate) struct GuestStack {
    arena: Arc<Arena>,
    /// Its lowest byte: the guard page's.
    pub(crate) offset: usize,
}

impl GuestStack {
    /// Opens the stack at `offset`, or uses again the one that was there.
    pub(crate) fn open(arena: &Arc<Arena>, offset: usize) -> io::Result<GuestStack> {
        arena.open(offset + PAGE, STACK - PAGE)?;
        Ok(GuestStack { arena: arena.clone(), offset })
    }
}

// SAFETY: the lowest page of the range is never made accessible, and the rest is larger than the least stack. The
// arena is mapped as long as the stack holds its count.
unsafe impl Stack for GuestStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.arena.start() + self.offset + STACK).expect("a mapping is not at zero")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.arena.start() + self.offset).expect("a mapping is not at zero")
    }
}
