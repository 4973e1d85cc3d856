//! Distances between cores, and the prices of caches of fixed latencies.

use baton_units::Cycles;

/// The distance between two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The same core.
    SameCore,
    /// Two cores with a common last-level cache.
    SameCluster,
    /// Two cores in one socket.
    SameSocket,
    /// Two cores in different sockets.
    CrossSocket,
}

/// A price for each distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByDistance {
    /// Between cores under one last-level cache.
    pub same_cluster: Cycles,
    /// Between clusters of one socket.
    pub same_socket: Cycles,
    /// Between sockets.
    pub cross_socket: Cycles,
}

/// The line size and the price of atomics on any chip, and the prices of caches of fixed latencies
/// (0 on a coherent chip).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cache {
    /// Bytes in a line.
    pub line_bytes: u32,
    /// Access to a line that the core holds.
    pub hit: Cycles,
    /// Taking a line from another core's cache.
    pub transfer: ByDistance,
    /// Invalidating the other copies of a line that the core has a copy of.
    pub upgrade: ByDistance,
    /// Fetching a line that no cache holds.
    pub memory: Cycles,
    /// How long a read of a shared line keeps the next request of that line waiting.
    pub occupancy: Cycles,
    /// What an atomic read-modify-write costs over a store.
    pub atomic: Cycles,
}

impl ByDistance {
    /// The price at `distance`; nothing within a core.
    pub fn at(&self, distance: Distance) -> Cycles {
        match distance {
            Distance::SameCore => Cycles(0),
            Distance::SameCluster => self.same_cluster,
            Distance::SameSocket => self.same_socket,
            Distance::CrossSocket => self.cross_socket,
        }
    }
}
