//! The operations that a guest thread has under way in its core.

use super::buffer::StoreBuffer;
use super::rmw::Far;
use super::walk::Walk;

#[derive(Default)]
pub(crate) struct Pipeline {
    /// Stores that have not been written yet.
    pub(crate) buffer: StoreBuffer,
    /// Independent loads under way.
    pub(crate) walk: Walk,
    /// The far atomic that the thread waits for.
    pub(crate) far: Option<Far>,
    /// Instructions that do not add up to a cycle yet, in units.
    pub(crate) instructions: u32,
    /// The condition for which the thread stalls.
    pub(crate) stall: Option<Stall>,
}

/// The condition that ends a stall of a thread at its store buffer or at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// The store buffer has at most this many entries in use.
    Entries(usize),
    /// The store buffer has at most this many stores.
    Stores(usize),
    /// Fewer than this many requests are unanswered.
    Requests(usize),
    /// All stores have been written, and all requests have left for their devices. On a chip with a
    /// QIMU, all requests have been answered.
    Left,
    /// The answer to this request has arrived.
    Answer {
        packet: u32,
        /// Whether the thread is in a system call.
        kernel: bool,
    },
}
