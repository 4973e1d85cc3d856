//! The handle of a guest thread.

use crate::base::thread::OUTSIDE;
use crate::engine::current::running;

/// A guest thread, which can be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest(pub(crate) u32);

impl Guest {
    /// The thread's number: consecutive, from 0, in the order of creation.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// # Panics
/// Outside of guest code; `verb` is what was called.
pub(super) fn assert_guest(verb: &str) {
    assert!(running() != OUTSIDE, "{verb} is for guest threads");
}
