//! Cores and their clock.

use super::clocks::{ClockLevels, CoreClocks};
use super::kinds::Kinds;
use baton_units::{Cycles, Hertz};

/// Cores and clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Core {
    /// How many there are.
    pub count: u32,
    /// Hardware contexts a core (SMT): CPUs to the operating system, which share the core's caches.
    pub contexts: u32,
    /// Their clock, and the reference that time is counted in.
    pub clock: Hertz,
    /// Cores that begin with another one.
    pub clocks: CoreClocks,
    /// Changing a core's clock: by system call, at its caller, and by a governor, at a thread of that core. `None`: no guest can, and a governor's
    /// changes are free.
    pub clock_change: Option<Cycles>,
    /// From a request for another clock until the core has it: what voltage and clock generator take. The core goes on at its old
    /// clock meanwhile.
    pub clock_latency: Cycles,
    /// What a governor chooses from.
    pub clock_levels: ClockLevels,
    /// Kinds of cores; none: all are alike.
    pub kinds: Kinds,
    /// Cores that share a last-level cache.
    pub per_cluster: u32,
    /// Clusters in a socket, which is also a NUMA node.
    pub clusters_per_socket: u32,
    /// Reading the clock.
    pub clock_read: Cycles,
    /// A sequentially consistent fence.
    pub fence: Cycles,
    /// Stores of a hardware thread that wait for their line; 0: each store waits for itself.
    pub store_buffer: u32,
    /// Instructions under way at once; 0: one access at a time.
    pub rob: u32,
    /// Loads under way at once; 0: one.
    pub load_queue: u32,
    /// Stores under way before they retire; 0: one.
    pub store_queue: u32,
    /// Instructions a cycle between guest operations; 0: they cost nothing.
    pub width: u32,
    /// What the mis-speculated loads at the end of a spin cost.
    pub flush: Cycles,
    /// Mean cycles from an instruction's issue to its result in what `work` stands for. Says how much of a window a
    /// computation needs, on a core with several contexts.
    pub result_latency: f64,
    /// All contexts of a core stand still for so long when another one becomes active, or one less is.
    pub mode_change: Cycles,
}
