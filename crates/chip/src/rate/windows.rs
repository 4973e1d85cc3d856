//! Hardware contexts get other shares of their core's window.

use crate::core::window::{Share, Window};
use crate::engine::state::Engine;

impl Engine {
    /// Gives a hardware context another share of its core's window, from its next access on.
    /// Accesses of the context that exceed the new share stay under way.
    pub(crate) fn set_share(&mut self, context: u32, share: Share) {
        let core = self.cores.kinds.of(self.chip.core_of(context));
        let window = Window::of_core(&self.chip, core).share(share);
        // A context that is not in use has no window.
        if let Some(here) = self.cores.windows.get_mut(context as usize) {
            *here = window;
        }
    }
}
