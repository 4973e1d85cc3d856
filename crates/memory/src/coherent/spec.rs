//! The configuration of the memory system, which does not change during a run.

use super::core_times::CoreTimes;
use super::places::Map;
use crate::border::Access;
use baton_chipfile::config::coherent::Atomics;
use baton_chipfile::config::mechanism::HomeOrder;
use baton_chipfile::config::plan::CLASSES;
use baton_coherence::Protocol;
use baton_coherence::cache::Event;
use baton_coherence::home::Naming;
use baton_noc::Header;

/// The configuration of a memory system.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) protocol: &'static Protocol,
    pub(super) times: Times,
    /// Latencies of a core of each kind at the reference clock, and the kind of each core.
    pub(super) core_times: Box<[CoreTimes]>,
    pub(super) kind_of: Box<[u32]>,
    pub(super) atomics: Atomics,
    /// Whether cores have several contexts.
    pub(super) siblings: bool,
    pub(super) mshrs: u32,
    /// Whether the shared level holds every line that a core has.
    pub(super) inclusive: bool,
    /// What directory entries name.
    pub(super) naming: Naming,
    /// How homes choose among the requests that wait for a line; `None`: in order of arrival.
    pub(super) order: Option<HomeOrder>,
    pub(super) packets: PacketSpec,
    pub(super) map: Map,
    pub(super) dram: DramSpec,
}

impl Spec {
    /// Latencies of a core at the reference clock.
    pub(super) fn core_times(&self, core: u32) -> CoreTimes {
        self.core_times[self.kind_of[core as usize] as usize]
    }
}

/// Latencies that no core's clock changes, in cycles of the reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) directory: u64,
    pub(super) bank: u64,
    pub(super) home_cycles: u64,
    pub(super) home_atomic: u64,
    /// The time between units of one node.
    pub(super) local: u64,
}

/// What messages are as packets.
#[derive(Clone)]
pub(super) struct PacketSpec {
    pub(super) control_flits: u32,
    pub(super) data_flits: u32,
    /// By device: flits of its packets, and whether its endpoint has a bound.
    pub(super) devices: Box<[(u32, bool)]>,
    /// Whether a home may refuse requests for a while.
    pub(super) bounded: bool,
    /// Whether packets do not meet in routers.
    pub(super) no_contention: bool,
    /// By class: whether a message takes over the mark of its request, if there are marks at all.
    pub(super) marks: [bool; CLASSES as usize],
    /// The class of releases, if they have a virtual network of their own.
    pub(super) releases: Option<u8>,
    /// The header of requests that go before all others, with all messages that they cause.
    pub(super) urgent: Option<Header>,
}

/// The configuration of memory behind a controller, in cycles of the reference.
#[derive(Clone)]
pub(super) struct DramSpec {
    pub(super) banks: u32,
    pub(super) lines_a_row: u32,
    pub(super) hit: u64,
    pub(super) miss: u64,
    /// Cycles that a line occupies the bus, in 1/256.
    pub(super) transfer: u64,
    /// Number of waiting requests among which a controller chooses the next.
    pub(super) window: usize,
}

impl Spec {
    /// The protocol's event for an access.
    #[inline]
    pub(super) fn event(&self, access: Access) -> Event {
        match access {
            Access::Load => Event::Load,
            Access::Store => Event::Store,
            Access::Atomic if self.atomics == Atomics::Far => Event::FarAtomic,
            Access::Atomic => Event::Store,
            Access::LoadLinked(_) => Event::LoadLinked,
            Access::StoreConditional(_) => Event::StoreConditional,
            Access::Prefetch => Event::PrefetchS,
            Access::PrefetchExclusive => Event::PrefetchM,
            Access::Push { to: None } => Event::PushHome,
            Access::Push { to: Some(_) } => Event::PushTo,
        }
    }
}
