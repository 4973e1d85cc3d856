//! Builds the memory system of a chip file.

use super::array::{Array, MOST_WAYS, TooLarge};
use super::caches::Caches;
use super::chip::{Coherent, CoherentState, Wiring};
use super::controller::Memories;
use super::core_times::CoreTimes;
use super::exchange::Exchange;
use super::homes::{Home, Homes};
use super::message::Flights;
use super::net::Net;
use super::places::{Map, Pages, REQUESTS};
use super::private::{Core, Slab};
use super::spec::{DramSpec, PacketSpec, Spec, Times};
use crate::base::random::Random;
use crate::lines::Sparse;
use baton_chipfile::config::coherent::{self, Contention, DirectoryKind, HomePolicy, Inclusion};
use baton_chipfile::config::device::Attachment;
use baton_chipfile::config::mechanism::Annotator;
use baton_chipfile::config::plan::{DEVICE_CLASS, Plan, release_class};
use baton_chipfile::config::{Chip, CoresByKind, Private};
use baton_coherence::home::Naming;
use baton_coherence::{CoreSet, Policy};
use baton_noc::{EndpointBound, NocError};
use baton_units::CoreId;
use thiserror::Error;

/// A coherent chip that cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Unbuilt {
    /// The host has too little address space for the memory system.
    #[error("the host has no address space for the directory: {0}")]
    Memory(String),
    /// The caches of a level are larger than what is simulated of them.
    #[error(
        "all `{table}` caches together could hold {lines} lines of the guests' memory; at most {MOST_WAYS} are simulated: make `{table}.size_bytes` smaller"
    )]
    Caches {
        /// The level's table in the chip file.
        table: &'static str,
        /// Number of lines that the caches could hold.
        lines: usize,
    },
    /// Packets need a network, and the chip has none.
    #[error("{0} cannot be packets on a chip without a network")]
    NoNetwork(&'static str),
    /// The network refuses its configuration.
    #[error("{0}")]
    Network(#[from] NocError),
}

impl<S: CoreSet> Coherent<S> {
    /// The memory system of a chip for `lines` lines of guest memory.
    pub fn new(
        chip: &Chip,
        config: &coherent::Coherent,
        lines: usize,
        mut random: Random,
    ) -> Result<Coherent<S>, Unbuilt> {
        let Some(floor) = chip.plan() else { unreachable!("a coherent chip has a floor plan") };
        let devices: Vec<_> =
            chip.devices.iter().flat_map(|devices| devices.each()).map(|one| one.attachment).collect();
        let packets = PacketSpec::new(config, &devices, floor.network.classes);
        let router = router(config, &floor, &devices, &mut random);
        let net = Net::new(&router, chip.network_period().unwrap_or(1), packets.longest())?;
        let kinds = CoresByKind::new(chip);
        let spec = Spec::new(chip, config, &kinds, Map::new(chip, config, floor), packets);
        let state = CoherentState::new(chip, config, &kinds, &spec, lines)?;
        Ok(Coherent { spec, state, wiring: Wiring::new(net) })
    }
}

/// The network of the floor plan, with bounds where a receiver may refuse packets for a while, and the arbiters that heed
/// marks if the chip has them.
fn router(config: &coherent::Coherent, floor: &Plan, devices: &[Attachment], random: &mut Random) -> baton_noc::Config {
    // A home and a device may refuse requests; forwards, responses and answers are always taken.
    let own = floor.devices.iter().zip(devices).filter_map(|(&node, device)| {
        device.places.map(|places| EndpointBound { nodes: vec![node], class: DEVICE_CLASS, places })
    });
    let router = baton_noc::Config {
        endpoint_places: config.home.places,
        response_class: u32::from(REQUESTS) + 1,
        places: own.collect(),
        ..floor.network.clone()
    };
    config.mechanisms.active().routers(router, &mut || random.draw())
}

impl PacketSpec {
    fn new(config: &coherent::Coherent, devices: &[Attachment], classes: u32) -> PacketSpec {
        let (network, mechanism) = (&config.network, config.mechanisms.active());
        let inheritance = mechanism.inheritance();
        PacketSpec {
            control_flits: network.control_flits,
            data_flits: network.data_flits,
            devices: devices.iter().map(|device| (device.flits.unwrap_or(0), device.places.is_some())).collect(),
            bounded: config.home.places != 0,
            no_contention: network.contention == Contention::None,
            releases: mechanism.has_release_network().then(|| release_class(classes)),
            marks: [inheritance.requests, inheritance.forwards, inheritance.responses],
            urgent: inheritance.always,
        }
    }

    /// Flits of the longest packet.
    fn longest(&self) -> u32 {
        let of_device = self.devices.iter().map(|device| device.0).max().unwrap_or(0);
        self.data_flits.max(self.control_flits).max(of_device)
    }
}

impl Spec {
    fn new(chip: &Chip, config: &coherent::Coherent, kinds: &CoresByKind, map: Map, packets: PacketSpec) -> Spec {
        let policy = match config.home.policy {
            HomePolicy::Blocking => Policy::Blocking,
            HomePolicy::NonBlocking => Policy::Nonblocking,
        };
        Spec {
            protocol: policy.protocol(),
            times: Times {
                directory: config.directory.latency.0,
                bank: config.shared.map_or(config.directory.latency.0, |shared| shared.bank.latency.0),
                home_cycles: config.home.cycles.0,
                home_atomic: config.home.atomic.0,
                local: config.network.local.0,
            },
            core_times: kinds.each_caches().iter().map(|caches| CoreTimes::new(chip, caches)).collect(),
            kind_of: (0..chip.core.count).map(|core| kinds.kind(CoreId(core))).collect(),
            atomics: config.atomics,
            siblings: chip.core.contexts != 1,
            mshrs: config.l2.unwrap_or(config.l1).mshrs,
            inclusive: config.shared.is_some_and(|shared| shared.inclusion == Inclusion::Inclusive),
            naming: match config.directory.kind {
                DirectoryKind::Full => Naming::FULL,
                DirectoryKind::Pointers(n) => Naming::pointers(n as u16),
                DirectoryKind::Owner => Naming::owner(chip.core.count as u16),
            },
            order: config.mechanisms.active().home_order(),
            packets,
            map,
            dram: DramSpec::new(&config.dram, chip.cache.line_bytes),
        }
    }
}

/// Largest time of the steps of a request together: its way to its home, to other cores and back,
/// and the waits at the end of each of these ways.
fn steps(chip: &Chip, config: &coherent::Coherent, kinds: &CoresByKind) -> u64 {
    let longest = |level: fn(&Private) -> u64| kinds.each_caches().iter().map(level).max().unwrap_or(0);
    let l2 = longest(|caches| caches.l2.map_or(0, |l2| l2.latency.0));
    let caches = [longest(|caches| caches.l1.latency.0), l2, config.shared.map_or(0, |shared| shared.bank.latency.0)];
    let home = [config.directory.latency, config.home.cycles, config.home.atomic].map(|cycles| cycles.0);
    let rest = [config.dram.row_miss, config.network.local, chip.cache.atomic].map(|cycles| cycles.0);
    caches.into_iter().chain(home).chain(rest).sum::<u64>() * 8
}

impl<S: CoreSet> CoherentState<S> {
    /// A memory system with empty caches and homes, and no request under way.
    fn new(
        chip: &Chip,
        config: &coherent::Coherent,
        kinds: &CoresByKind,
        spec: &Spec,
        lines: usize,
    ) -> Result<CoherentState<S>, Unbuilt> {
        let (count, line_bytes) = (chip.core.count, chip.cache.line_bytes);
        let private = || (0..count).map(|core| kinds.caches(CoreId(core)));
        let l1 = config.l2.map(|_| Array::new(private().map(|caches| caches.l1), line_bytes, lines)).transpose();
        let outer = Array::new(private().map(Private::outer), line_bytes, lines);
        let banks = |bank| std::iter::repeat_n(bank, config.home.banks as usize);
        let bank = config.shared.map(|shared| Array::new(banks(shared.bank), line_bytes, lines)).transpose();
        let too_large = |table| move |TooLarge { lines }| Unbuilt::Caches { table, lines };
        // SAFETY: all-zero bytes are valid entries, because the entries are integers.
        let entry_of = unsafe { Sparse::new(lines) }.map_err(|error| Unbuilt::Memory(error.to_string()))?;
        let mut flights = Flights::new();
        let memories = Memories::new(&config.dram, &mut flights);
        Ok(CoherentState {
            now: 0,
            next: u64::MAX,
            exchange: Exchange::new(flights, Pages::new(config, lines, &spec.map), count, steps(chip, config, kinds)),
            caches: Caches {
                l1: l1.map_err(too_large("l1"))?,
                outer: outer.map_err(too_large(if config.l2.is_some() { "l2" } else { "l1" }))?,
                cores: vec![Core::default(); count as usize],
                slots: Slab::new(),
                waiters: Slab::new(),
                times: (0..count).map(|core| spec.core_times(core)).collect(),
            },
            homes: Homes {
                entry_of,
                entries: Vec::new(),
                all: (0..config.home.banks).map(|_| Home::default()).collect(),
                bank: bank.map_err(too_large("shared"))?,
                victims: 0,
            },
            memories,
        })
    }
}
