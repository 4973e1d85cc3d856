//! The core's part of a guest's accesses: what it keeps to itself before the memory system hears of it.
//!
//! | file | holds |
//! | --- | --- |
//! | [`buffer`] | the store buffer: a queue of stores that later loads of the thread look into first |
//! | [`mark`] | what a lock tells the network interface of its next try |
//! | [`rmw`] | atomics that the home performs |
//! | [`drain`] | how stores leave it, one after the other, and who waits until they have |
//! | [`window`] | how many accesses of a hardware context can be under way at once |
//! | [`size`] | the smallest and the largest window |
//! | [`walk`] | loads that do not depend on each other: the lines of a range |
//! | [`hints`] | prefetches and pushes |
//! | [`instructions`] | the algorithm's own instructions between accesses |
//!
//! The store buffer makes the chip x86-TSO (Sewell and others, CACM 53:7, 2010): a store is done when it has entered the
//! buffer; guest memory is written when its line is owned; loads of the same thread see it at once. Locked
//! instructions, sequentially consistent fences and stores, wake-ups and system calls wait until the buffer is empty.

pub(crate) mod buffer;
pub(crate) mod drain;
pub(crate) mod hints;
pub mod instructions;
pub(crate) mod mark;
pub(crate) mod rmw;
pub(crate) mod size;
pub(crate) mod walk;
pub(crate) mod window;

use crate::engine::thread::ThreadId;

/// A request's token: whose it is, and which of its accesses.
///
/// Part 0 is the thread's own operation, for which it waits.
pub(crate) fn token(thread: ThreadId, part: u32) -> u32 {
    debug_assert!(thread < 1 << PART_SHIFT);
    part << PART_SHIFT | thread
}

/// The thread and the part of a token.
pub(crate) fn parts(token: u32) -> (ThreadId, u32) {
    (token & ((1 << PART_SHIFT) - 1), token >> PART_SHIFT)
}

const PART_SHIFT: u32 = 22;
/// The store at the head of the buffer.
pub(crate) const HEAD: u32 = 1;
/// A hint, which nobody waits for.
pub(crate) const HINT: u32 = 2;
/// An access of an interrupt's handler.
pub(crate) const HANDLER: u32 = 3;
/// From here on: a load of a walk, by its number.
pub(crate) const WALK: u32 = 512;
