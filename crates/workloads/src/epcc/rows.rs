//! The arrays that threads copy, in the machine's memory.

use baton_machine::{Machine, OwnedSlice};
use core::cell::UnsafeCell;

/// Numbers of the largest array.
pub(super) const MOST: usize = 59_049;

/// Numbers in a line.
const NUMBERS: usize = 8;

/// Lines of one thread's array.
const LINES: usize = MOST.div_ceil(NUMBERS);

/// One line of an array.
#[repr(C, align(64))]
pub(super) struct Line(UnsafeCell<[f64; NUMBERS]>);

// SAFETY: only its own thread writes an array. Other threads read it after a fork or barrier that
// follows the write, and a barrier or a join comes between their reads and the next write.
unsafe impl Sync for Line {}

/// The arrays of all threads; each thread's numbers differ from those of the others.
pub(super) fn arrays<M: Machine>(threads: usize) -> OwnedSlice<M, Line> {
    OwnedSlice::new(threads * LINES, |line| Line(UnsafeCell::new([line as f64; NUMBERS])))
}

/// Bytes of the arrays of `threads` threads.
pub(super) fn bytes(threads: usize) -> usize {
    threads * LINES * size_of::<Line>()
}

/// The array of one thread.
pub(super) fn array(arrays: &[Line], thread: u32) -> *mut f64 {
    arrays[thread as usize * LINES..].as_ptr().cast_mut().cast()
}
