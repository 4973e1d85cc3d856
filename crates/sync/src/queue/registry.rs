//! Every queue by name, holding words of eight bytes (the entry size of the CAF paper). A new queue is one file and one
//! line in [`every_queue!`](crate::every_queue).

use super::{QueueInfo, RawQueue};
use baton_machine::{Machine, Native};

/// Passes every queue to the macro that is named in brackets, behind the tokens that follow the brackets: its module, its
/// type and its abilities. These are `shared` (any number of threads on each side) and
/// `in_bulk` ([`BulkQueue`](super::BulkQueue)) and `in_device` ([`QueueInfo::device`]), in this order.
#[macro_export]
macro_rules! every_queue {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            spsc::Spsc [],
            ring::Ring [shared in_bulk],
            ring_single::RingSingle [],
            mpmc::Mpmc [shared],
            qmd::Qmd [shared in_device],
            auto::Auto [shared],
        }
    };
}

every_queue! {
    [crate::registry::registry]
    /// Every queue, in the order in which people read about them.
    QUEUES: QueueInfo,
    /// A name that is no queue.
    UnknownQueue "queue",
    /// What to do with a queue that is known by name only: its type arrives as `T`.
    QueueVisitor RawQueue [Item = u64],
    (u64)
}
