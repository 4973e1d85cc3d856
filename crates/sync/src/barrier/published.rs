//! The word that lets all go, and what the last to arrive publishes with it.

use baton_machine::{Machine, Slot};

/// What changes once an episode, and is read by all.
#[repr(C, align(128))]
pub(super) struct Published<M: Machine, T: 'static> {
    pub(super) word: M::Atomic<u32>,
    /// Written by the last to arrive before it lets the others go, and read by those that were let go.
    behind: M::Slot<Option<T>>,
}

// SAFETY: the slot is written before the word is, by the one participant that does not wait for it, and read behind it.
unsafe impl<M: Machine, T: Send + Sync> Sync for Published<M, T> {}
// SAFETY: its parts may go where the machine's cells may, and what it holds may, too.
unsafe impl<M: Machine, T: Send> Send for Published<M, T> {}

impl<M: Machine, T: 'static> Published<M, T> {
    pub(super) fn new(word: M::Atomic<u32>, behind: Option<T>) -> Self {
        Published { word, behind: M::Slot::new(behind) }
    }

    /// Publishes it with the word's next change.
    ///
    /// # Safety
    /// All have arrived, we are the last, and the others read it only when that change says that it is there.
    pub(super) unsafe fn write(&self, what: T) {
        // SAFETY: by contract no other thread accesses the slot.
        unsafe { self.behind.write(|at| *at = Some(what)) };
    }

    /// What was published.
    ///
    /// # Safety
    /// The word that we were let go by says that it is there, and it is not written again before we arrive.
    pub(super) unsafe fn read(&self) -> &T {
        // SAFETY: by contract it was written before, and is not written again meanwhile.
        let at = unsafe { self.behind.read(|at| core::ptr::from_ref((*at).as_ref().expect("it was published"))) };
        // SAFETY: as above: it stays where it is.
        unsafe { &*at }
    }
}
