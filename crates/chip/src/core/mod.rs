//! The core's part in a guest's accesses, before the memory system is involved.
//!
//! | file | holds |
//! | --- | --- |
//! | [`buffer`] | the store buffer: a queue of stores that later loads of the thread search first |
//! | [`mark`] | what a lock tells the network interface about its next try |
//! | [`pipeline`] | the operations that a thread has under way |
//! | [`rmw`] | atomics that the home performs |
//! | [`window`] | how many accesses of a hardware context can be under way at once |
//! | [`walk`] | independent loads: the lines of a range |
//! | [`instructions`] | the algorithm's own instructions between accesses |
//!
//! The store buffer makes the chip x86-TSO (Sewell and others, CACM 53:7, 2010). A store completes
//! when it has entered the buffer; guest memory is written when the core owns the line; loads of
//! the same thread see the store at once. Locked instructions, sequentially consistent fences and
//! stores, wake-ups and system calls wait until the buffer is empty.

pub(crate) mod buffer;
pub(crate) mod instructions;
pub(crate) mod mark;
pub(crate) mod pipeline;
pub(crate) mod rmw;
pub(crate) mod walk;
pub(crate) mod window;
