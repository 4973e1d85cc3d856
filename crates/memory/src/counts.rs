//! What memory systems count. A counter is added by a line here and one where it is counted.

counters! {
    /// What the memory system counted; from `l2_hits` on, 0 on a chip of fixed latencies.
    pub struct MemoryCounts {
        /// Requests that found the line where they needed it, counted tries included.
        hits: Requests,
        /// Lines taken from another core.
        transfers: Lines,
        /// Copies turned into the only one.
        upgrades: Copies,
        /// Lines fetched from memory.
        fetches: Lines,
        /// Cycles that requests waited behind others for the same line.
        queueing: Cycles,
        /// Requests that the private second level served.
        l2_hits: Requests,
        /// Requests whose line was not in the core's caches.
        misses: Requests,
        /// Lines that a home's bank supplied.
        shared_hits: Lines,
        /// Copies that were invalidated or recalled.
        invalidations: Copies,
        /// Lines that left a core's caches to make room.
        evictions: Lines,
        /// Lines written to memory.
        memory_writes: Lines,
        /// Accesses to memory that found their row open.
        row_hits: Accesses,
        /// Atomics performed at a home.
        far_atomics: Atomics,
        /// Messages of the protocol.
        messages: Messages,
    }
}

counters! {
    /// What the memory system's network counted; all 0 on a chip without one.
    pub struct NetworkCounts {
        /// One for each flit and router that it passed.
        flit_hops: FlitHops,
        /// Packets given to the network.
        packets: Packets,
        /// Packets that carry a lock or wake-up request, marked (`ocor.enabled`) or not.
        lock_packets: Packets,
        /// The longest that a marked packet took.
        longest_marked: Cycles max,
        /// The longest that an unmarked packet took.
        longest_unmarked: Cycles max,
    }
}

counters! {
    /// What a core's caches counted.
    pub struct CoreCounts {
        /// Requests that the first level served, counted tries included.
        hits: Requests,
        /// Requests that the private second level served.
        l2_hits: Requests,
        /// Requests whose line was not in the core's caches.
        misses: Requests,
        /// Requests that had the line, but not the right to write it.
        upgrades: Requests,
        /// Requests of others that it answered with its line.
        forwards: Requests,
        /// Copies that it lost to others, recalls included.
        invalidations: Copies,
    }
}
