//! The keys of a coherent chip as values: caches, directory, memory controllers and network.
//!
//! A line lives in the private caches of a core (L1 and, on some chips, L2), in the shared bank of
//! its home, and in memory. A chip without `[l2]` has no private second level. On a chip without
//! `[shared]`, homes keep the directory only. All latencies are in cycles of the core's clock.
//! [`super::geometry`] checks which values must fit together.

use super::choice::choice;
use super::mechanism::Mechanisms;
pub use super::texts::{DieLink, DieLinks, DirectoryKind, Placement};
use baton_noc::Config;
use baton_units::{Cycles, Hertz};

/// The parts of a chip with `memory.model = "coherent"`, except for its cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coherent {
    /// The first-level data cache of each core.
    pub l1: Level,
    /// The private second level of each core; `None`: the chip has none.
    pub l2: Option<Level>,
    /// The shared last level, with a bank at each home; `None`: the chip has none.
    pub shared: Option<Shared>,
    /// The directory, which records the copies of each line.
    pub directory: Directory,
    /// The homes; all requests for a line meet at the line's home.
    pub home: Home,
    /// Memory controllers.
    pub dram: Dram,
    /// The network on which all messages travel.
    pub network: Network,
    /// The place where an atomic read-modify-write is done.
    pub atomics: Atomics,
    /// The settings of each mechanism that marks lock and wake-up requests.
    pub mechanisms: Mechanisms,
}

/// One cache: the L1 or L2 of a core, or the shared bank of one home.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Bytes of data.
    pub size_bytes: u64,
    /// Lines a set.
    pub ways: u32,
    /// The latency of a lookup, which adds to the lookups of the levels before.
    pub latency: Cycles,
    /// The replacement policy within a set.
    pub replacement: Replacement,
    /// The most misses under way at once.
    pub mshrs: u32,
}

impl Level {
    /// The number of sets, for lines of `line_bytes`; a power of two in a chip that was read from a
    /// file.
    pub fn sets(&self, line_bytes: u32) -> u64 {
        self.size_bytes / (u64::from(self.ways) * u64::from(line_bytes)).max(1)
    }
}

/// The shared last level of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// One home's bank.
    pub bank: Level,
    /// Whether the shared level has a copy of every line that cores hold.
    pub inclusion: Inclusion,
}

/// The directory of a home, with an entry for every line that a core holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Directory {
    /// How an entry records sharers.
    pub kind: DirectoryKind,
    /// Cycles from the moment when the home takes up a request to the message that the request
    /// causes (a forward or an acknowledgement). The directory works at the same time as the bank,
    /// so that `shared.latency` does not add to this latency.
    pub latency: Cycles,
}

/// How many homes a chip has, and how they serve requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Home {
    /// Number of homes; lines are spread over them.
    pub banks: u32,
    /// How lines are mapped to homes.
    pub placement: HomePlacement,
    /// Whether a request waits while another request for the same line is under way.
    pub policy: HomePolicy,
    /// The most requests that a home accepts; further ones wait in the network. 0 for no bound.
    pub places: u32,
    /// Cycles from the moment when a home takes up a request to the moment when it can take up the
    /// next one.
    pub cycles: Cycles,
    /// Cycles that a home needs to perform a far atomic.
    pub atomic: Cycles,
}

/// Memory controllers and their memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dram {
    /// How many controllers.
    pub controllers: u32,
    /// The nodes of the network at which the controllers are.
    pub placement: Placement,
    /// Number of neighbouring bytes that one controller serves; the bytes after them belong to the
    /// next controller.
    pub interleave_bytes: u64,
    /// Number of banks of each controller; each bank has one open row.
    pub banks: u32,
    /// Number of bytes in a row.
    pub row_bytes: u64,
    /// Cycles of an access to the open row, from the moment when the bank takes up the access to
    /// the data.
    pub row_hit: Cycles,
    /// Cycles of an access to a row that is not open.
    pub row_miss: Cycles,
    /// Number of bytes that a controller moves in a cycle of the core's clock.
    pub bytes_per_cycle: f64,
    /// Number of waiting requests, the earliest, among which a controller chooses; 0 is taken as
    /// 64.
    pub queue: u32,
}

/// The network on the chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The way in which routers are connected.
    pub topology: Topology,
    /// Number of routers in a row of a mesh or torus; 0 on other topologies.
    pub width: u32,
    /// Number of rows of a mesh or torus; 0 on other topologies.
    pub height: u32,
    /// Links between dies.
    pub links: DieLinks,
    /// The clock of the network; the core's clock is a whole multiple of it.
    pub clock: Hertz,
    /// Whether packets contend with each other.
    pub contention: Contention,
    /// Latency between two units at the same node, without the network, in cycles of the core's
    /// clock.
    pub local: Cycles,
    /// Number of flits in a message without data.
    pub control_flits: u32,
    /// Number of flits in a message with a line.
    pub data_flits: u32,
    /// Number of bytes in a flit; a link moves one flit in a cycle.
    pub flit_bytes: u32,
    /// Number of virtual channels of each message class.
    pub vcs: u32,
    /// The router, arbiter and latencies, as a configuration of the network crate.
    /// [`super::Chip::plan`] fills in topology, classes and virtual channels.
    pub router: Config,
}

choice! {
    /// The rule that chooses which line leaves a full set.
    Replacement {
        /// The least recently used line.
        #[default] Lru = "lru",
        /// The line at which a tree of bits points.
        Plru = "plru",
    }
}
choice! {
    /// Whether the shared level has a copy of every line that the cores hold.
    Inclusion {
        /// The shared level has a copy of every line that a core holds; a line that leaves the
        /// shared level also leaves the cores.
        Inclusive = "inclusive",
        /// The shared level may or may not have a copy of a line that a core holds.
        #[default] NonInclusive = "non-inclusive",
    }
}
choice! {
    /// The rule that assigns a home to a line.
    HomePlacement {
        /// Lines are distributed over all homes in turn.
        #[default] Interleaved = "interleaved",
        /// A page belongs to the NUMA node that touches the page first; lines of the page are
        /// distributed over the homes of that node in turn.
        FirstTouch = "first-touch",
    }
}
choice! {
    /// Whether a request waits while another request for the same line is under way.
    HomePolicy {
        /// A request waits at the home until the earlier requestor has confirmed its answer.
        #[default] Blocking = "blocking",
        /// A request is forwarded at once. This needs an ordered forward class: `network.vcs = 1`
        /// and a deterministic routing.
        NonBlocking = "nonblocking",
    }
}
choice! {
    /// Whether packets contend with each other.
    Contention {
        /// Packets contend with each other in routers.
        #[default] Routers = "routers",
        /// Each packet takes as long as in an empty network, and homes accept all packets: a
        /// comparison shows the effect of contention.
        None = "none",
    }
}
choice! {
    /// The place where an atomic read-modify-write is done.
    Atomics {
        /// The L1 of the core, which holds the line in state M.
        #[default] Near = "near",
        /// The home of the line.
        Far = "far",
        /// The core performs it as load-linked and store-conditional. A compare-exchange that fails
        /// only reads the line.
        LlSc = "llsc",
    }
}
choice! {
    /// The way in which routers are connected, and the units that are attached to them.
    Topology {
        /// A grid with one router for each core.
        #[default] Mesh = "mesh",
        /// A grid with one router for each core, whose rows and columns are closed to rings.
        Torus = "torus",
        /// A ring with one router for each core.
        Ring = "ring",
        /// One router, with a port for each core, home and controller.
        Crossbar = "crossbar",
        /// One link that all cores, homes and controllers share.
        Bus = "bus",
        /// A crossbar in each cluster of cores, with `network.links` between the crossbars.
        Dies = "dies",
    }
}
