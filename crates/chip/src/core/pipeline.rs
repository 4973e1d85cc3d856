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
    /// What the thread stalls for.
    pub(crate) stall: Option<Stall>,
}

/// What a thread stalls for: its store buffer, or a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// At most so many entries are in its store buffer.
    Entries(usize),
    /// At most so many stores are.
    Stores(usize),
    /// Fewer than so many requests are.
    Requests(usize),
    /// All stores are written, and all requests have left for their devices.
    Left,
    /// The answer to a request is here.
    Answer {
        /// The request's packet.
        packet: u32,
        /// The thread is in a system call.
        kernel: bool,
    },
}
