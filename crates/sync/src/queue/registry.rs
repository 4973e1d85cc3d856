//! All queues by name, for items of eight bytes (the entry size of the CAF paper). A new queue is
//! one file and one line in [`every_queue!`](crate::every_queue).

use super::{QueueInfo, RawQueue};
use baton_machine::{Machine, Native};

/// Passes every queue (its module, its type and its abilities) to the macro named in brackets,
/// after the tokens that follow the brackets. The abilities are `shared` (any number of threads on
/// each side), `in_bulk` ([`BulkQueue`](super::BulkQueue)) and `in_device` ([`QueueInfo::device`]),
/// in this order.
#[macro_export]
macro_rules! every_queue {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            spsc::Spsc [],
            ring::Ring [shared in_bulk],
            ring_single::RingSingle [],
            mpmc::Mpmc [shared],
            segments::Segments [shared],
            qmd::Qmd [shared in_device],
            auto::Auto [shared],
        }
    };
}

every_queue! {
    [crate::registry::registry]
    /// Descriptions of all queues, in the order of the documentation.
    QUEUES: QueueInfo,
    /// The error for a name that is not a queue.
    UnknownQueue "queue",
    /// Code to run with the type `T` of a queue that is known only by name.
    QueueVisitor RawQueue [Item = u64],
    (u64)
}
