//! What memory systems count.

/// What the memory system counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Requests that found the line where they needed it.
    pub hits: u64,
    /// Lines taken from another core.
    pub transfers: u64,
    /// Copies turned into the only one.
    pub upgrades: u64,
    /// Lines fetched from memory.
    pub fetches: u64,
    /// Cycles that requests waited behind others for the same line.
    pub queueing: u64,
    /// Requests that the private second level served. This and the rest: coherent chips only.
    pub l2_hits: u64,
    /// Requests whose line was not in the core's caches.
    pub misses: u64,
    /// Lines that a home's bank supplied.
    pub shared_hits: u64,
    /// Copies that were invalidated or recalled.
    pub invalidations: u64,
    /// Lines that left a core's caches to make room.
    pub evictions: u64,
    /// Lines written to memory.
    pub memory_writes: u64,
    /// Accesses to memory that found their row open.
    pub row_hits: u64,
    /// Atomics performed at a home.
    pub far_atomics: u64,
    /// Messages of the protocol.
    pub messages: u64,
    /// One for each flit and router that it passed.
    pub flit_hops: u64,
    /// Packets given to the network.
    pub packets: u64,
    /// Those of them that carry a lock or wake-up request, marked (`ocor.enabled`) or not.
    pub lock_packets: u64,
    /// The longest that a marked packet took, in cycles of the core's clock.
    pub longest_marked: u64,
    /// The same of the others.
    pub longest_unmarked: u64,
}

/// What a core's caches counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// Requests that the first level served, counted tries included.
    pub hits: u64,
    /// Requests that the private second level served.
    pub l2_hits: u64,
    /// Requests whose line was not in the core's caches.
    pub misses: u64,
    /// Requests that had the line, but not the right to write it.
    pub upgrades: u64,
    /// Requests of others that were answered with a line from here.
    pub forwards: u64,
    /// Copies lost to others, recalls included.
    pub invalidations: u64,
}
