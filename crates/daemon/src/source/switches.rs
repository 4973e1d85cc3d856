//! Context switches of the calling thread's descendants, from the rings of all CPUs.

use crate::sys::ring::{Record, Ring};
use std::io::Result;

/// Records that are younger than this wait for the next look: older ones of another CPU may still
/// be under way.
const SETTLED_NS: u64 = 100_000;

pub(crate) struct Switches {
    cpus: Vec<u32>,
    rings: Vec<Ring>,
    /// Records that were read. Between two looks, they are those that are too young.
    records: Vec<Record>,
    /// The memory of what the last look returned, once it was given back.
    spare: Vec<Record>,
    lost: u64,
}

impl Switches {
    /// Opens the rings of these CPUs for the calling thread and all that descend from it from now on.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub(crate) fn open(cpus: &[u32]) -> Result<Switches> {
        let rings = cpus.iter().map(|&cpu| Ring::open(cpu)).collect::<Result<_>>()?;
        Ok(Switches { cpus: cpus.to_vec(), rings, records: Vec::new(), spare: Vec::new(), lost: 0 })
    }

    /// Whether one of these CPUs has no ring.
    pub(super) fn lacks(&self, cpus: &[u32]) -> bool {
        !cpus.iter().all(|cpu| self.cpus.contains(cpu))
    }

    pub(super) fn look(&mut self, now: u64) -> Vec<Record> {
        for ring in &mut self.rings {
            ring.read(&mut self.records);
        }
        // The sort is stable, so that records of one CPU keep their order.
        self.records.sort_by_key(|record| record.time);
        let settled = self.records.partition_point(|record| record.time + SETTLED_NS <= now);
        let mut records = std::mem::take(&mut self.spare);
        records.extend(self.records.drain(..settled));
        records
    }

    /// Takes back what a look returned, so that the next one need not ask for memory.
    pub(super) fn give_back(&mut self, mut records: Vec<Record>) {
        records.clear();
        self.spare = records;
    }

    pub(super) fn half_full(&self) -> Vec<libc::pollfd> {
        self.rings.iter().map(Ring::half_full).collect()
    }

    pub(super) fn lost(&mut self) -> u64 {
        let all = self.rings.iter().map(Ring::lost).sum();
        all - std::mem::replace(&mut self.lost, all)
    }
}
