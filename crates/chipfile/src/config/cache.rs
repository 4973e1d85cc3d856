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
    /// The price between two cores that share a last-level cache.
    pub same_cluster: Cycles,
    /// The price between two cores of one socket that share no last-level cache.
    pub same_socket: Cycles,
    /// The price between two cores in different sockets.
    pub cross_socket: Cycles,
}

/// The line size and the price of atomics on any chip, and the prices of caches of fixed latencies
/// (0 on a coherent chip).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cache {
    /// Number of bytes in a line.
    pub line_bytes: u32,
    /// The price of an access to a line that the core holds.
    pub hit: Cycles,
    /// The price of taking a line from the cache of another core.
    pub transfer: ByDistance,
    /// The price of invalidating the other copies of a line of which the core has a copy.
    pub upgrade: ByDistance,
    /// The price of fetching a line that no cache holds.
    pub memory: Cycles,
    /// The time for which a read of a shared line delays the next request for that line.
    pub occupancy: Cycles,
    /// The price of an atomic read-modify-write beyond the price of a store.
    pub atomic: Cycles,
}

impl ByDistance {
    /// Returns the price at `distance`; 0 within a core.
    pub fn at(&self, distance: Distance) -> Cycles {
        match distance {
            Distance::SameCore => Cycles(0),
            Distance::SameCluster => self.same_cluster,
            Distance::SameSocket => self.same_socket,
            Distance::CrossSocket => self.cross_socket,
        }
    }
}
