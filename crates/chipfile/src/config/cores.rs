//! The cores and their clock.

use super::clocks::{ClockLevels, CoreClocks};
use super::kinds::Kinds;
use baton_units::{Cycles, Hertz};

/// Cores and clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Core {
    /// Number of cores.
    pub count: u32,
    /// Number of hardware contexts of each core (SMT). Each context is a CPU to the operating
    /// system; the contexts of a core share its caches.
    pub contexts: u32,
    /// The clock of the cores, and the reference clock in which time is counted.
    pub clock: Hertz,
    /// The cores that start a run with another clock.
    pub clocks: CoreClocks,
    /// The price of a change of a core's clock. A thread that changes a clock by system call pays
    /// it; for a governor's change, a thread of that core pays it. `None`: no guest can change
    /// clocks, and a governor's changes are free.
    pub clock_change: Option<Cycles>,
    /// Cycles from a request for another clock until the core has that clock: the time that voltage
    /// and clock generator need. The core runs at its old clock meanwhile.
    pub clock_latency: Cycles,
    /// The clocks that a governor chooses from.
    pub clock_levels: ClockLevels,
    /// The kinds of cores; empty if all cores are alike.
    pub kinds: Kinds,
    /// Number of cores that share a last-level cache.
    pub per_cluster: u32,
    /// Number of clusters in a socket, which is also a NUMA node.
    pub clusters_per_socket: u32,
    /// The price of reading the clock.
    pub clock_read: Cycles,
    /// The price of a sequentially consistent fence.
    pub fence: Cycles,
    /// Number of stores of a hardware thread that can wait for their lines at once; 0: the thread
    /// waits for each store.
    pub store_buffer: u32,
    /// Number of instructions under way at once; 0: one access at a time.
    pub rob: u32,
    /// Number of loads under way at once; 0: one load.
    pub load_queue: u32,
    /// Number of stores in the buffer, the oldest, whose lines are requested at once; 0: one store.
    pub store_queue: u32,
    /// Number of instructions in a cycle between guest operations; 0: such instructions cost
    /// nothing.
    pub width: u32,
    /// The price of the mis-speculated loads at the end of a spin.
    pub flush: Cycles,
    /// Mean number of cycles from the issue of an instruction to its result, in the instructions
    /// that `work` stands for. On a core with several contexts, it determines the part of the
    /// window that a computation needs.
    pub result_latency: f64,
    /// The time for which all contexts of a core stop when one of them becomes active or inactive.
    pub mode_change: Cycles,
}
