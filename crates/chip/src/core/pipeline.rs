//! What a guest thread has under way in its core.

use super::buffer::StoreBuffer;
use super::rmw::Far;
use super::walk::Walk;

/// A thread's part of its core.
#[derive(Default)]
pub(crate) struct Pipeline {
    /// Stores that have not been written yet.
    pub(crate) buffer: StoreBuffer,
    /// Independent loads under way.
    pub(crate) walk: Walk,
    /// The far atomic that the thread waits for.
    pub(crate) far: Option<Far>,
    /// Instructions that have not made up a cycle yet, in units.
    pub(crate) instructions: u32,
    /// The thread waits until at most so many stores are in its buffer.
    pub(crate) waits_for_room: Option<usize>,
}
