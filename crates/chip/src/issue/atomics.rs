//! Homes perform far atomics.

use crate::base::thread::ThreadId;
use crate::core::rmw::Far;
use crate::engine::state::Engine;

impl Engine {
    /// The home performs the thread's far atomic now.
    pub(crate) fn performed(&mut self, id: ThreadId) {
        let Some(far) = &mut self.threads[id as usize].pipeline.far else { return };
        let Far { offset, bytes, what, .. } = *far;
        let mut word = [0; 8];
        let at = self.guest.arena.at(offset).as_ptr();
        // SAFETY: the cell of `bytes` bytes is alive, because its thread waits in an operation on
        // the cell, and no guest runs now. Host and guest both keep the low byte first.
        unsafe { at.copy_to_nonoverlapping(word.as_mut_ptr(), bytes) };
        let old = u64::from_le_bytes(word);
        far.old = Some(old);
        if let Some(new) = what.apply(old, bytes) {
            // SAFETY: as above.
            unsafe { at.copy_from_nonoverlapping(new.to_le_bytes().as_ptr(), bytes) };
            self.wrote(offset, id);
        }
    }
}
