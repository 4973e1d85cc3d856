//! The complete configuration of a chip as one value.

use super::cache::{Cache, Distance};
use super::choice::choice;
use super::coherent::Coherent;
use super::cores::Core;
use super::device::Devices;
use super::energy::Prices as EnergyPrices;
use super::os::Os;
use super::phases::Phases;
use super::waits::WaitPrices;
use baton_machine::{Site, Unavailable, Wait};
use baton_units::{CoreId, Cycles};

/// A chip: its cores, and the prices of accesses, waits and the operating system. All prices are in
/// cycles of the core's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// The name in results.
    pub name: String,
    /// Cores and clock.
    pub core: Core,
    /// The lines, and the prices of caches of fixed latencies.
    pub cache: Cache,
    /// Wait policies.
    pub wait: WaitPrices,
    /// Operating system.
    pub os: Os,
    /// Random differences between seeds.
    pub noise: Noise,
    /// Coherent caches on a network; in the coarse mode, the sizes and latencies from which phases
    /// are computed. `None` for caches of fixed latencies, with the prices in `cache`.
    pub coherent: Option<Coherent>,
    /// The coarse mode, in which computations are played as phases; `None` if computations are
    /// simulated as they are.
    pub phases: Option<Phases>,
    /// The devices; `None` if there are none.
    pub devices: Option<Devices>,
    /// The prices of energy; any may be missing.
    pub energy: EnergyPrices,
}

choice! {
    /// The model of memory.
    MemoryModel {
        /// Caches without capacity, at fixed prices.
        #[default] Fixed = "fixed",
        /// Caches, directory and memory controllers on a network.
        Coherent = "coherent",
        /// The coarse mode: rates of phases follow from the keys of a coherent chip, and cells have
        /// fixed prices.
        Phases = "phases",
    }
}

/// Random differences between seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// The largest share by which a request beyond the core's own copy takes longer or shorter, on
    /// a chip of fixed latencies (0.05: within 5%).
    pub latency: f64,
    /// The largest number of cycles by which a thread starts late.
    pub start: Cycles,
}

impl Chip {
    /// Returns the model of memory.
    pub fn model(&self) -> MemoryModel {
        match (&self.phases, &self.coherent) {
            (Some(_), _) => MemoryModel::Phases,
            (None, Some(_)) => MemoryModel::Coherent,
            (None, None) => MemoryModel::Fixed,
        }
    }

    /// The number of CPUs on which the operating system schedules: the contexts of all cores.
    pub fn cpus(&self) -> u32 {
        self.core.count * self.core.contexts
    }

    /// Returns the core of a CPU. CPUs are numbered as Linux numbers them on x86: first the first
    /// context of every core, then the second contexts. The first `core.count` CPUs are therefore
    /// on a core each, and CPU `n` and CPU `n + core.count` are siblings.
    #[inline(always)]
    pub fn core_of(&self, cpu: u32) -> CoreId {
        if self.core.contexts == 1 { CoreId(cpu) } else { CoreId(cpu % self.core.count) }
    }

    /// Checks that the chip has what `wait` needs. Must be called before a run, because a guest
    /// that waits by a policy that its chip lacks panics.
    ///
    /// # Errors
    /// The key of the chip file that is missing, or that excludes the policy.
    pub fn check_wait(&self, wait: Wait) -> Result<(), Unavailable> {
        self.wait.has(wait).map_err(|why| Unavailable { wait, why })
    }

    /// The distance between `a` and `b`.
    pub fn distance(&self, a: CoreId, b: CoreId) -> Distance {
        let cluster = |core: CoreId| core.0 / self.core.per_cluster;
        if a == b {
            Distance::SameCore
        } else if cluster(a) == cluster(b) {
            Distance::SameCluster
        } else if self.socket(a) == self.socket(b) {
            Distance::SameSocket
        } else {
            Distance::CrossSocket
        }
    }

    /// The socket of `core`, which is also its NUMA node.
    pub fn socket(&self, core: CoreId) -> u32 {
        core.0 / (self.core.per_cluster * self.core.clusters_per_socket)
    }

    /// The site of a thread on `core`: its cluster, socket and so on.
    pub fn site(&self, core: CoreId) -> Site {
        Site { node: self.socket(core), cluster: core.0 / self.core.per_cluster, core: core.0 }
    }
}
