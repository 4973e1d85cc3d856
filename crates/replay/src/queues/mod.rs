//! Queues of items: those of the recording, and the queues of the library that can stand in their
//! place.
//!
//! | file | holds |
//! | --- | --- |
//! | [`recorded`] | the queues of a recording, and the threads at their ends |
//! | [`serve`] | the library's queues on the simulated chip |
//! | [`price`] | what a put and a take cost on a chip |

pub(crate) mod price;
pub mod recorded;
pub(crate) mod serve;

use baton_machine::Wait;
use baton_sync::queue::{QUEUES, QueueInfo, Side};

/// A kind of queue that can take the place of a recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// One producer and one consumer.
    Spsc,
    /// DPDK's ring.
    Ring,
    /// DPDK's ring for one producer and one consumer.
    RingSingle,
    /// Vyukov's queue.
    Mpmc,
    /// A list of segments, the only kind that needs no bound.
    Segments,
    /// A queue in the chip's queue device.
    Qmd,
}

impl QueueKind {
    /// All kinds.
    pub const ALL: [QueueKind; 6] =
        [QueueKind::Spsc, QueueKind::Ring, QueueKind::RingSingle, QueueKind::Mpmc, QueueKind::Segments, QueueKind::Qmd];

    /// Returns the kind's name in the registry.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Spsc => "spsc",
            QueueKind::Ring => "ring",
            QueueKind::RingSingle => "ring-single",
            QueueKind::Mpmc => "mpmc",
            QueueKind::Segments => "segments",
            QueueKind::Qmd => "qmd",
        }
    }

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<QueueKind> {
        QueueKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind's description.
    ///
    /// # Panics
    /// Never: a test finds every kind in the registry.
    pub fn info(self) -> &'static QueueInfo {
        QUEUES.iter().find(|info| info.name == self.name()).expect("the registry has every kind")
    }

    /// Whether the kind serves one thread only at the side where items go in, or where they come out.
    pub(crate) fn is_for_one(self, puts: bool) -> bool {
        let info = self.info();
        matches!(if puts { info.producers } else { info.consumers }, Side::Single)
    }
}

/// A queue in the place of a recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub kind: QueueKind,
    /// How many items fit; `None` for as many as in the recorded queue.
    pub capacity: Option<u32>,
    /// How the queue's threads wait.
    pub wait: Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_has_every_kind() {
        for kind in QueueKind::ALL {
            assert_eq!((kind.info().name, QueueKind::named(kind.name())), (kind.name(), Some(kind)));
        }
        assert!(QueueKind::Spsc.is_for_one(true) && !QueueKind::Ring.is_for_one(false));
    }
}
