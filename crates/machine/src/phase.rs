//! A computation said by its figures: instructions, and what they want of the caches.

/// Bytes that a computation accesses at random, each line as often as any other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkingSet {
    /// Its size.
    pub bytes: u64,
    /// Accesses to it in 1000 instructions that the first-level cache does not serve.
    pub accesses: f64,
}

/// What a thread's instructions want of its core and caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Cycles an instruction where the first-level cache serves every access.
    pub cpi: f64,
    /// What is accessed beyond the first level. Misses as a function of cache follow from it.
    pub sets: Vec<WorkingSet>,
    /// Misses under way at once.
    pub overlap: u32,
    /// The node of its pages; `None`: the one where the thread first runs it.
    pub node: Option<u32>,
}

impl Behaviour {
    /// Bytes of all sets: the footprint.
    pub fn bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.bytes).sum()
    }

    /// Accesses to all sets in 1000 instructions.
    pub fn accesses(&self) -> f64 {
        self.sets.iter().map(|set| set.accesses).sum()
    }
}
