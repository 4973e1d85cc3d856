//! Finds the words of locks by the hinted atomics that are done on them.

use crate::engine::state::Engine;
use baton_chipfile::config::mechanism::LockRequest;

impl Engine {
    /// The running thread is about to do an atomic on the word at `offset`. If the atomic follows a
    /// lock's hint, the word belongs to a lock, and is watched from now on.
    #[inline]
    pub(crate) fn note_lock_word(&mut self, offset: usize) {
        let hint = self.threads[self.running as usize].mechanism.hint;
        if self.log.watch.on && matches!(hint, Some(LockRequest::Try(..) | LockRequest::Release(_))) {
            // SAFETY: the cell is alive, because an atomic is being done on it, and no other guest
            // runs now. It has four bytes, as all words of the locks that give hints.
            let value = || unsafe { self.guest.arena.at(offset).cast::<u32>().read() };
            self.log.watch.add(offset, value);
        }
    }
}
