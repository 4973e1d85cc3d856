//! The call stacks that a thread remembers: by return address and depth, the number of each.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Stacks that a thread remembers.
pub const REMEMBERED: usize = 64;
/// What a thread remembers of its stacks.
pub struct Stacks {
    pub known: [(AtomicUsize, AtomicUsize, AtomicU32); REMEMBERED],
    /// A stack is being unwound: the unwinder may lock, too.
    pub busy: AtomicBool,
    /// How many object files had been unloaded when they were remembered.
    pub unloads: AtomicU32,
}

impl Stacks {
    /// None.
    pub const fn new() -> Stacks {
        Stacks {
            known: [const { (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU32::new(0)) }; REMEMBERED],
            busy: AtomicBool::new(false),
            unloads: AtomicU32::new(0),
        }
    }

    /// For a new thread, or a new trace.
    pub fn forget(&self) {
        self.forget_stacks();
        self.busy.store(false, Relaxed);
    }

    pub fn forget_stacks(&self) {
        for (at, ..) in &self.known {
            at.store(0, Relaxed);
        }
    }
}
