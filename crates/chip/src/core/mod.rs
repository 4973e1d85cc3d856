//! The core's part of a guest's accesses: what it keeps to itself before the memory system hears of it.
//!
//! | file | holds |
//! | --- | --- |
//! | [`buffer`] | the store buffer: a queue of stores that later loads of the thread look into first |
//! | [`mark`] | what a lock tells the network interface of its next try |
//! | [`pipeline`] | what a thread has under way |
//! | [`rmw`] | atomics that the home performs |
//! | [`window`] | how many accesses of a hardware context can be under way at once |
//! | [`walk`] | loads that do not depend on each other: the lines of a range |
//! | [`instructions`] | the algorithm's own instructions between accesses |
//!
//! The store buffer makes the chip x86-TSO (Sewell and others, CACM 53:7, 2010): a store is done when it has entered the
//! buffer; guest memory is written when its line is owned; loads of the same thread see it at once. Locked
//! instructions, sequentially consistent fences and stores, wake-ups and system calls wait until the buffer is empty.

pub(crate) mod buffer;
pub(crate) mod instructions;
pub(crate) mod mark;
pub(crate) mod pipeline;
pub(crate) mod rmw;
pub(crate) mod walk;
pub(crate) mod window;
