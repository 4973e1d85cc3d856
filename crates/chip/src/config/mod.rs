//! What a chip is: the keys of a chip file, as one typed value.
//!
//! | file | holds |
//! | --- | --- |
//! | [`coherent`] | caches, directory, homes, memory controllers and network of a coherent chip |
//! | [`device`](mod@device) | devices |
//! | `geometry` | which values must fit together |
//! | [`ocor`] | marks on lock and wake-up requests |
//! | `os` | values of the operating system's keys that are more than a number |
//! | [`plan`] | where everything hangs in the network |
//! | [`prices`] | what single accesses cost on an idle chip, of either kind |
//! | [`keys`] | the table of keys: path, unit, range, what it is for; reading, writing and the docs come from it |
//! | `scale` | the chip with another number of cores |
//! | [`waits`] | the prices of the wait policies |
//! | `texts` | keys whose value is a small text: sharers, placements, links |
//! | [`read`] | strict reading: an unknown key is an error that names the nearest known one |
//! | [`write`](mod@write) | the whole configuration as a chip file again |
//!
//! The keys are explained in `docs/chip-file.md`.

pub mod coherent;
pub mod device;
mod geometry;
pub mod keys;
pub mod ocor;
mod os;
pub mod plan;
pub mod prices;
pub mod read;
mod scale;
mod texts;
pub mod waits;
pub mod write;

pub use coherent::Coherent;
pub use os::{FutexHome, IdleStates, Ipi, OffCores, SchedulerName};
pub use plan::Plan;
pub use prices::Prices;
pub use read::{ChipError, Problem};
pub use waits::{Halt, Level, Monitor, Mwait, SystemCall, WaitPrices};

pub use crate::clock::text::{CoreClock, CoreClocks};
use baton_units::{CoreId, Cycles, Hertz};

/// A chip: cores, what an access costs, what waiting costs, what the operating system costs.
/// All costs are in cycles of the core's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// What it is called in results.
    pub name: String,
    /// Cores and clock.
    pub core: Core,
    /// Lines, and the prices of caches of fixed latencies.
    pub cache: Cache,
    /// Wait policies.
    pub wait: WaitPrices,
    /// Operating system.
    pub os: Os,
    /// What differs between seeds.
    pub noise: Noise,
    /// Coherent caches on a network; `None`: caches of fixed latencies, at the prices in `cache`.
    pub coherent: Option<Coherent>,
    /// Devices; `None`: there are none.
    pub devices: Option<device::Devices>,
    /// Prices of energy; all may be missing.
    pub energy: crate::energy::Prices,
}

/// How memory is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryModel {
    /// Caches without capacity, at fixed prices.
    Fixed,
    /// Caches, directory and memory controllers on a network.
    Coherent,
}

impl MemoryModel {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["fixed", "coherent"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        MemoryModel::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<MemoryModel> {
        [MemoryModel::Fixed, MemoryModel::Coherent].into_iter().find(|model| model.name() == name)
    }
}

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
    /// Changing a core's clock by system call, at its caller; `None`: only the host can.
    pub clock_change: Option<Cycles>,
    /// From a request for another clock until the core has it: what voltage and clock generator take. The core goes on at its old
    /// clock meanwhile.
    pub clock_latency: Cycles,
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

/// A price for each class of distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByDistance {
    /// Between cores under one last-level cache.
    pub same_cluster: Cycles,
    /// Between clusters of one socket.
    pub same_socket: Cycles,
    /// Between sockets.
    pub cross_socket: Cycles,
}

/// Line size and atomics of any chip, and the prices of caches of fixed latencies (0 on a coherent chip).
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

/// Operating system: futex and run queues at fixed prices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Os {
    /// Futex wait that sleeps: from the call to the moment when the core is free.
    pub futex_wait: Cycles,
    /// Futex wait that finds the value changed and returns.
    pub futex_wait_changed: Cycles,
    /// Futex wake that finds nobody asleep.
    pub futex_wake_none: Cycles,
    /// Futex wake of one sleeper, up to its return to the waker.
    pub futex_wake: Cycles,
    /// Each further sleeper woken by the same call.
    pub futex_wake_more: Cycles,
    /// From one thread to the next on a core.
    pub context_switch: Cycles,
    /// From a wake-up to the first instruction of the thread, on a core that has been idle for long.
    pub wake_idle: Cycles,
    /// The same on a core that became idle less than `idle_poll` ago and still polls.
    pub wake_polling: Cycles,
    /// How long an idle core polls before it halts.
    pub idle_poll: Cycles,
    /// How long a thread runs before another that waits for the core gets it.
    pub time_slice: Cycles,
    /// How far behind in run time a woken thread must be to preempt the running one.
    pub wakeup_granularity: Cycles,
    /// Creating a thread, at its creator.
    pub thread_create: Cycles,
    /// Which policy decides who runs where.
    pub scheduler: SchedulerName,
    /// How often queues are balanced while all CPUs are busy; 0: never.
    pub balance_interval: Cycles,
    /// How much run time a thread that slept is ahead of those that did not.
    pub sleeper_credit: Cycles,
    /// Where the kernel's hash buckets have their homes; `None`: they are not in memory, and a call costs its price.
    pub futex_home: Option<FutexHome>,
    /// The share of threads woken from another CPU while theirs idles that come to the waker's CPU.
    pub wake_pull: f64,
    /// Kernel entry and exit of a call that has no price of its own.
    pub syscall: Cycles,
    /// Lines of its CPU's kernel data that a system call reads.
    pub kernel_lines: u32,
    /// Lines of its CPU's kernel data that an interrupt's handler reads.
    pub interrupt_lines: u32,
    /// Lines of a CPU's run queue that handlers, sleepers and wakers write.
    pub queue_lines: u32,
    /// What an interrupt from another CPU takes from the thread that it hits.
    pub interrupt: Cycles,
    /// Period of the timer tick on a CPU that is not idle; 0: none.
    pub tick: Cycles,
    /// What a tick takes from the thread that it hits.
    pub tick_cost: Cycles,
    /// How an interrupt goes from CPU to CPU.
    pub ipi: Ipi,
    /// What a switch to a thread that ran on another core costs more.
    pub migrate: Cycles,
    /// Deeper idle states.
    pub idle_states: IdleStates,
    /// Cores that are switched off when the run begins.
    pub off: OffCores,
}

/// What differs between seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Each transfer takes up to this share longer or shorter (0.05: within 5%).
    pub latency: f64,
    /// Each thread starts up to this many cycles late.
    pub start: Cycles,
}

/// How far two cores are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The same core.
    SameCore,
    /// Under one last-level cache.
    SameCluster,
    /// In one socket.
    SameSocket,
    /// In two sockets.
    CrossSocket,
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

impl Chip {
    /// How memory is modelled.
    pub fn model(&self) -> MemoryModel {
        if self.coherent.is_some() { MemoryModel::Coherent } else { MemoryModel::Fixed }
    }

    /// CPUs that the operating system schedules on: the contexts of all cores.
    pub fn cpus(&self) -> u32 {
        self.core.count * self.core.contexts
    }

    /// The core of a CPU. The first contexts of all cores come first, then the second ones, as Linux numbers them on x86:
    /// so the first `core.count` CPUs are a core each, and CPU `n` and CPU `n + core.count` are siblings.
    #[inline(always)]
    pub fn core_of(&self, cpu: u32) -> CoreId {
        if self.core.contexts == 1 { CoreId(cpu) } else { CoreId(cpu % self.core.count) }
    }

    /// How far `a` and `b` are apart.
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

    /// The socket, and NUMA node, of `core`.
    pub fn socket(&self, core: CoreId) -> u32 {
        core.0 / (self.core.per_cluster * self.core.clusters_per_socket)
    }
}
