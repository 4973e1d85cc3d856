//! Chip file → memory system.

use super::array::Array;
use super::caches::Caches;
use super::chip::{Coherent, State, Wiring};
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
use crate::config::Chip;
use crate::config::coherent::{self, Contention, DirectoryKind, HomePolicy, Inclusion};
use crate::config::device::Attachment;
use crate::config::mechanism::Annotator;
use crate::config::plan::{DEVICE_CLASS, Plan};
use crate::memory::lines::Sparse;
use baton_coherence::{CoreSet, Policy};
use baton_noc::{EndpointBound, NocError};
use thiserror::Error;

/// A coherent chip that cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub(crate) enum Unbuilt {
    /// The host has no memory for it.
    #[error("the host has no address space for the directory: {0}")]
    Memory(String),
    /// Packets travel on a network, and there is none.
    #[error("{0} cannot be packets on a chip without a network")]
    NoNetwork(&'static str),
    /// The network's own reason.
    #[error("{0}")]
    Network(#[from] NocError),
}

impl<S: CoreSet> Coherent<S> {
    /// The memory system of a chip for `lines` lines of guest memory.
    pub(crate) fn new(
        chip: &Chip,
        config: &coherent::Coherent,
        lines: usize,
        mut random: Random,
    ) -> Result<Coherent<S>, Unbuilt> {
        let Some(floor) = chip.plan() else { unreachable!("a coherent chip has a floor plan") };
        let devices: Vec<_> =
            chip.devices.iter().flat_map(|devices| devices.each()).map(|one| one.attachment).collect();
        let packets = PacketSpec::new(config, &devices);
        let router = router(config, &floor, &devices, &mut random);
        let net = Net::new(&router, chip.network_period().unwrap_or(1), packets.longest())?;
        let spec = Spec::new(chip, config, Map::new(chip, config, floor), packets);
        let state = State::new(chip, config, &spec, lines)?;
        Ok(Coherent { spec, state, wiring: Wiring::new(net) })
    }
}

/// The network of the floor plan, with bounds where a receiver may refuse packets for a while, and the arbiters that heed
/// marks if the chip has them.
fn router(config: &coherent::Coherent, floor: &Plan, devices: &[Attachment], random: &mut Random) -> baton_noc::Config {
    // A home may refuse requests, and a device; forwards, responses and answers are always taken.
    let own = floor.devices.iter().zip(devices).filter_map(|(&node, device)| {
        device.places.map(|places| EndpointBound { nodes: vec![node], class: DEVICE_CLASS, places })
    });
    let router = baton_noc::Config {
        endpoint_places: config.home.places,
        response_class: u32::from(REQUESTS) + 1,
        places: own.collect(),
        ..floor.network.clone()
    };
    config.mechanisms.active().routers(router, &mut || random.next())
}

impl PacketSpec {
    fn new(config: &coherent::Coherent, devices: &[Attachment]) -> PacketSpec {
        let (network, inheritance) = (&config.network, config.mechanisms.active().inheritance());
        PacketSpec {
            control_flits: network.control_flits,
            data_flits: network.data_flits,
            devices: devices.iter().map(|device| (device.flits.unwrap_or(0), device.places.is_some())).collect(),
            bounded: config.home.places != 0,
            no_contention: network.contention == Contention::None,
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
    fn new(chip: &Chip, config: &coherent::Coherent, map: Map, packets: PacketSpec) -> Spec {
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
            core_times: CoreTimes::new(chip, config),
            atomics: config.atomics,
            siblings: chip.core.contexts != 1,
            mshrs: config.l2.unwrap_or(config.l1).mshrs,
            inclusive: config.shared.is_some_and(|shared| shared.inclusion == Inclusion::Inclusive),
            pointers: match config.directory.kind {
                DirectoryKind::Full => u16::MAX,
                DirectoryKind::Pointers(n) => n as u16,
            },
            order: config.mechanisms.active().home_order(),
            packets,
            map,
            dram: DramSpec::new(&config.dram, chip.cache.line_bytes),
        }
    }
}

/// What the steps of a request take together at most: its way to its home and to other cores and back, each with what waits at its
/// end.
fn steps(chip: &Chip, config: &coherent::Coherent) -> u64 {
    let caches = [Some(config.l1), config.l2, config.shared.map(|shared| shared.bank)];
    let caches = caches.into_iter().flatten().map(|level| level.latency.0);
    let home = [config.directory.latency, config.home.cycles, config.home.atomic].map(|cycles| cycles.0);
    let rest = [config.dram.row_miss, config.network.local, chip.cache.atomic].map(|cycles| cycles.0);
    caches.chain(home).chain(rest).sum::<u64>() * 8
}

impl<S: CoreSet> State<S> {
    /// Caches and homes are empty, and nothing is under way.
    fn new(chip: &Chip, config: &coherent::Coherent, spec: &Spec, lines: usize) -> Result<State<S>, Unbuilt> {
        let (count, line_bytes) = (chip.core.count, chip.cache.line_bytes);
        // SAFETY: an array of integers.
        let entry_of = unsafe { Sparse::new(lines) }.map_err(|error| Unbuilt::Memory(error.to_string()))?;
        let mut flights = Flights::new();
        let memories = Memories::new(&config.dram, &mut flights);
        Ok(State {
            now: 0,
            next: u64::MAX,
            exchange: Exchange::new(flights, Pages::new(config, lines, &spec.map), count, steps(chip, config)),
            caches: Caches {
                l1: config.l2.is_some().then(|| Array::new(&config.l1, line_bytes, count, lines)),
                outer: Array::new(&config.l2.unwrap_or(config.l1), line_bytes, count, lines),
                cores: vec![Core::default(); count as usize],
                slots: Slab::new(),
                waiters: Slab::new(),
                times: vec![spec.core_times; count as usize].into(),
            },
            homes: Homes {
                entry_of,
                entries: Vec::new(),
                all: (0..config.home.banks).map(|_| Home::default()).collect(),
                bank: config.shared.map(|shared| Array::new(&shared.bank, line_bytes, config.home.banks, lines)),
                victims: 0,
            },
            memories,
        })
    }
}
