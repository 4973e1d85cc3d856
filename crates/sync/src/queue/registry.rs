//! Every queue by name, holding words of eight bytes (the entry size of the CAF paper). A new queue is one file, one
//! alias and one line in `registry!`.

use super::{QueueInfo, RawQueue};
use crate::registry::registry;
use baton_machine::{Machine, Native};

/// The queues of words.
mod words {
    pub(super) type Spsc<M> = crate::queue::spsc::Spsc<M, u64>;
    pub(super) type Ring<M> = crate::queue::ring::Ring<M, u64>;
    pub(super) type Mpmc<M> = crate::queue::mpmc::Mpmc<M, u64>;
}

registry! {
    /// Every queue, in the order in which people read about them.
    QUEUES: QueueInfo,
    /// A name that is no queue.
    UnknownQueue "queue",
    /// What to do with a queue that is known by name only: its type arrives as `T`.
    QueueVisitor RawQueue [Item = u64],
    words::Spsc,
    words::Ring,
    words::Mpmc,
}
