//! A computation described by figures: its instructions, and how they use the caches.

/// A piece of memory that a computation accesses at random, each line equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkingSet {
    /// Size of the set in bytes.
    pub bytes: u64,
    /// Accesses to the set for each 1,000 instructions, excluding those that the first-level cache
    /// serves.
    pub accesses: f64,
}

/// How a thread's instructions use the core and the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Cycles an instruction if the first-level cache served every access.
    pub cpi: f64,
    /// The sets that are accessed beyond the first level. They determine the misses for each cache
    /// size.
    pub sets: Vec<WorkingSet>,
    /// Number of misses in flight at once.
    pub overlap: u32,
    /// The NUMA node of the pages; `None`: the node where a thread first runs this behaviour.
    pub node: Option<u32>,
}

impl Behaviour {
    /// Bytes of all sets together, the footprint.
    pub fn bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.bytes).sum()
    }

    /// Accesses to all sets for each 1,000 instructions.
    pub fn accesses(&self) -> f64 {
        self.sets.iter().map(|set| set.accesses).sum()
    }
}
