//! Hardware contexts get other shares of their core's window.

use crate::core::window::{Share, Window};
use crate::engine::state::Engine;

impl Engine {
    /// Gives a hardware context another share of its core's window, from the next access on. What it has under way
    /// beyond its share stays under way.
    pub(crate) fn set_share(&mut self, context: u32, share: Share) {
        let core = self.cores.kinds.of(self.chip.core_of(context));
        let window = Window::of_core(&self.chip, core).share(share);
        // Fewer CPUs may be in use than the chip has.
        if let Some(here) = self.cores.windows.get_mut(context as usize) {
            *here = window;
        }
    }
}
