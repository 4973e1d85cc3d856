//! Latencies of a core's private caches, which scale with its clock.

use crate::base::ratio::Ratio;
use baton_chipfile::config::{Chip, Private};

/// Latencies of a core's private caches, in cycles of the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreTimes {
    pub(super) l1: u64,
    pub(super) l2: u64,
    /// The latencies of all private levels, added up.
    pub(super) lookup: u64,
    pub(super) atomic: u64,
}

impl CoreTimes {
    /// The times of cores with these caches, from the chip file.
    pub(super) fn new(chip: &Chip, caches: &Private) -> CoreTimes {
        let (l1, l2) = (caches.l1.latency.0, caches.l2.map_or(0, |l2| l2.latency.0));
        CoreTimes { l1, l2, lookup: l1 + l2, atomic: chip.cache.atomic.0 }
    }

    /// The latencies at another clock, rounded up to whole cycles of the reference.
    pub(super) fn scaled(self, ratio: Ratio) -> CoreTimes {
        let (l1, l2) = (ratio.edge(self.l1), ratio.edge(self.l2));
        CoreTimes { l1, l2, lookup: l1 + l2, atomic: ratio.edge(self.atomic) }
    }
}
