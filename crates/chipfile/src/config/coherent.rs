//! The coherent chip: caches, directory, memory controllers and network, as the keys of a chip file give them.
//!
//! A line lives in a core's private hierarchy (L1 and, where there is one, L2), in the shared bank of its home, and in
//! memory. A chip without `[l2]` has no private second level, one without `[shared]` has homes that keep the directory
//! only. All latencies are in cycles of the core's clock; [`super::geometry`] checks what must fit together.

use super::choice::choice;
use super::mechanism::Mechanisms;
pub use super::texts::{DieLink, DieLinks, DirectoryKind, Placement};
use baton_noc::Config;
use baton_units::{Cycles, Hertz};

/// What a chip with `memory.model = "coherent"` has beside its cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coherent {
    /// First-level data cache of each core.
    pub l1: Level,
    /// Private second level of each core.
    pub l2: Option<Level>,
    /// The last level: a bank at each home.
    pub shared: Option<Shared>,
    /// The directory, which records the copies of each line.
    pub directory: Directory,
    /// The homes, where requests for a line meet.
    pub home: Home,
    /// Memory controllers.
    pub dram: Dram,
    /// The network that all messages travel on.
    pub network: Network,
    /// Where an atomic read-modify-write is done.
    pub atomics: Atomics,
    /// Marks on lock and wake-up requests, by mechanism.
    pub mechanisms: Mechanisms,
}

/// One cache: a core's L1 or L2, or the shared bank of one home.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Bytes of data.
    pub size_bytes: u64,
    /// Lines a set.
    pub ways: u32,
    /// Looking it up, added to the levels looked up before it.
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

/// The shared last level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// One home's bank.
    pub bank: Level,
    /// Whether it has a copy of every line that cores hold.
    pub inclusion: Inclusion,
}

/// The directory of a home. It has an entry for every line that a core holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Directory {
    /// How an entry records sharers.
    pub kind: DirectoryKind,
    /// From a request's turn to what it causes (a forward, an acknowledgement); beside `shared.latency`, not before it.
    pub latency: Cycles,
}

/// The homes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Home {
    /// How many there are; lines are spread over them.
    pub banks: u32,
    /// How lines are mapped to homes.
    pub placement: HomePlacement,
    /// Whether a request waits while another of its line is under way.
    pub policy: HomePolicy,
    /// The most requests that a home accepts; further ones wait in the network. 0 for no bound.
    pub places: u32,
    /// Cycles between one request's turn and the next one's.
    pub cycles: Cycles,
    /// What performing a far atomic takes.
    pub atomic: Cycles,
}

/// Memory controllers and their memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dram {
    /// How many controllers.
    pub controllers: u32,
    /// Where they hang in the network.
    pub placement: Placement,
    /// Neighbouring bytes that one controller serves before the next one's turn.
    pub interleave_bytes: u64,
    /// Banks a controller, each with one open row.
    pub banks: u32,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// An access to the open row, from its turn at the bank to the data.
    pub row_hit: Cycles,
    /// An access to another row.
    pub row_miss: Cycles,
    /// Bytes that a controller moves in a cycle of the core's clock.
    pub bytes_per_cycle: f64,
    /// Requests that a controller takes in. 0: without bound.
    pub queue: u32,
}

/// The network on chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// How routers are joined.
    pub topology: Topology,
    /// Routers in a row of a mesh or torus; 0 on other topologies.
    pub width: u32,
    /// Rows of a mesh or torus; 0 on other topologies.
    pub height: u32,
    /// Links between dies.
    pub links: DieLinks,
    /// Its clock; the core's is a whole multiple of it.
    pub clock: Hertz,
    /// Whether packets meet each other.
    pub contention: Contention,
    /// From one unit to another at the same node, past the network; in cycles of the core's clock.
    pub local: Cycles,
    /// Flits of a message without data.
    pub control_flits: u32,
    /// Flits of a message with a line.
    pub data_flits: u32,
    /// Bytes of a flit, which is what a link moves in a cycle.
    pub flit_bytes: u32,
    /// Virtual channels of each message class.
    pub vcs: u32,
    /// Router, arbiter and latencies as the network crate has them; its topology, classes and virtual channels are put in
    /// by [`super::Chip::plan`].
    pub router: Config,
}

choice! {
    /// Which line of a set goes.
    Replacement {
        /// The least recently used.
        #[default] Lru = "lru",
        /// The one that a tree of bits points at.
        Plru = "plru",
    }
}
choice! {
    /// Whether the shared level has a copy of everything that the cores hold.
    Inclusion {
        /// It has: its victims are taken from the cores, too.
        Inclusive = "inclusive",
        /// It keeps what it happened to keep.
        #[default] NonInclusive = "non-inclusive",
    }
}
choice! {
    /// Which home a line has.
    HomePlacement {
        /// Lines go round all homes.
        #[default] Interleaved = "interleaved",
        /// A page belongs to the NUMA node that touched it first; its lines go round the homes there.
        FirstTouch = "first-touch",
    }
}
choice! {
    /// Whether a request waits while another of its line is under way.
    HomePolicy {
        /// It waits at the home until the requestor has said that it is served.
        #[default] Blocking = "blocking",
        /// It is forwarded at once; needs an ordered forward class: `network.vcs = 1` and a deterministic routing.
        NonBlocking = "nonblocking",
    }
}
choice! {
    /// Whether packets meet each other.
    Contention {
        /// They do, in routers.
        #[default] Routers = "routers",
        /// Each takes as long as in an empty network, and homes take all in: for telling what contention does.
        None = "none",
    }
}
choice! {
    /// Where an atomic read-modify-write is done.
    Atomics {
        /// In the core's L1, with the line in M.
        #[default] Near = "near",
        /// At the line's home.
        Far = "far",
        /// The core performs it as load-linked and store-conditional; a failing read may hit.
        LlSc = "llsc",
    }
}
choice! {
    /// How routers are joined, and what hangs on them.
    Topology {
        /// A router a core, in a grid.
        #[default] Mesh = "mesh",
        /// The same with rows and columns closed to rings.
        Torus = "torus",
        /// A router a core, in a ring.
        Ring = "ring",
        /// One router; cores, homes and controllers have a port each.
        Crossbar = "crossbar",
        /// One link that cores, homes and controllers share.
        Bus = "bus",
        /// A crossbar in each cluster of cores, `network.links` between them.
        Dies = "dies",
    }
}
