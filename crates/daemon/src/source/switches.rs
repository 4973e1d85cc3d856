//! Context switches of the calling thread's descendants, from the rings of all CPUs.

use crate::sys::ring::{Record, Ring};
use std::io::Result;

/// Records that are younger than this wait for the next look: older ones of another CPU may still
/// be under way.
const SETTLED_NS: u64 = 100_000;

pub(crate) struct Switches {
    cpus: Vec<u32>,
    rings: Vec<Ring>,
    /// Records that were read and are too young.
    young: Vec<Record>,
    lost: u64,
}

impl Switches {
    /// Opens the rings of these CPUs for the calling thread and all that descend from it from now on.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub(crate) fn open(cpus: &[u32]) -> Result<Switches> {
        let rings = cpus.iter().map(|&cpu| Ring::open(cpu)).collect::<Result<_>>()?;
        Ok(Switches { cpus: cpus.to_vec(), rings, young: Vec::new(), lost: 0 })
    }

    /// Whether one of these CPUs has no ring.
    pub(super) fn lacks(&self, cpus: &[u32]) -> bool {
        !cpus.iter().all(|cpu| self.cpus.contains(cpu))
    }

    pub(super) fn look(&mut self, now: u64) -> Vec<Record> {
        let mut records = std::mem::take(&mut self.young);
        for ring in &mut self.rings {
            ring.read(&mut records);
        }
        // The sort is stable, so that records of one CPU keep their order.
        records.sort_by_key(|record| record.time);
        let settled = records.partition_point(|record| record.time + SETTLED_NS <= now);
        self.young = records.split_off(settled);
        records
    }

    pub(super) fn half_full(&self) -> Vec<libc::pollfd> {
        self.rings.iter().map(Ring::half_full).collect()
    }

    pub(super) fn lost(&mut self) -> u64 {
        let all = self.rings.iter().map(Ring::lost).sum();
        all - std::mem::replace(&mut self.lost, all)
    }
}
