//! The word that releases all waiters, and the data that the last thread to arrive publishes with
//! it.

use baton_machine::{Machine, Slot};

/// A word that changes once an episode, and the data published with it. All threads read both.
#[repr(C, align(128))]
pub(super) struct Published<M: Machine, T: 'static> {
    pub(super) word: M::Atomic<u32>,
    /// The data: the last thread to arrive writes it before it releases the others, and released
    /// threads read it.
    behind: M::Slot<Option<T>>,
}

// SAFETY: the slot is written before the word changes, by the one participant that does not wait
// for it, and is read only after that change.
unsafe impl<M: Machine, T: Send + Sync> Sync for Published<M, T> {}
// SAFETY: its parts are cells and slots of the machine, which may move between threads if their
// content may.
unsafe impl<M: Machine, T: Send> Send for Published<M, T> {}

impl<M: Machine, T: 'static> Published<M, T> {
    pub(super) fn new(word: M::Atomic<u32>, behind: Option<T>) -> Self {
        Published { word, behind: M::Slot::new(behind) }
    }

    /// Publishes `what` with the word's next change.
    ///
    /// # Safety
    /// All threads have arrived and this one was the last; the others read the slot only once that
    /// change says that the data exists.
    pub(super) unsafe fn write(&self, what: T) {
        // SAFETY: by contract no other thread accesses the slot.
        unsafe { self.behind.write(|at| *at = Some(what)) };
    }

    /// Returns the published data.
    ///
    /// # Safety
    /// The word that released this thread says that the data exists, and it is not written again
    /// before this thread arrives.
    pub(super) unsafe fn read(&self) -> &T {
        // SAFETY: by contract the slot was written before, and is not written again meanwhile, so
        // the data stays in place.
        unsafe { &*self.address() }
    }

    /// Returns the address of the published data, for a thread that may still be in a function when
    /// the data is replaced.
    ///
    /// # Safety
    /// The word that released this thread says that the data exists, and this thread has not
    /// arrived.
    pub(super) unsafe fn address(&self) -> *const T {
        // SAFETY: by contract the slot was written before, and is not written meanwhile.
        unsafe { self.behind.read(|at| core::ptr::from_ref((*at).as_ref().expect("it was published"))) }
    }
}
