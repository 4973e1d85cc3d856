//! Chip file → memory system.

use super::array::Array;
use super::controller::Memories;
use super::counts::Counts;
use super::golden::Golden;
use super::homes::Home;
use super::message::Flights;
use super::net::Net;
use super::own::OwnTimes;
use super::places::{Places as Plan, REQUESTS};
use super::private::{Own, Slab};
use super::{Coherent, Times};
use crate::config::Chip;
use crate::config::coherent::{self, Contention, DirectoryKind, HomePolicy, Inclusion};
use crate::config::ocor::{Ocor, Ties};
use crate::config::plan::DEVICE_CLASS;
use crate::engine::queue::EventQueue;
use crate::memory::lines::Sparse;
use crate::random::Random;
use baton_coherence::{CoreSet, Policy};
use baton_noc::arbiter::ArbiterKind;
use baton_noc::{NocError, Places};
use thiserror::Error;

/// A coherent chip that cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub(crate) enum Unbuilt {
    /// The host has no memory for it.
    #[error("the host has no address space for the directory: {0}")]
    Memory(String),
    /// The network's own reason.
    #[error("{0}")]
    Network(#[from] NocError),
}

/// The network with OCOR's arbiters, whose ties the run's seed breaks.
fn marked_network(router: baton_noc::Config, ocor: &Ocor, random: &mut Random) -> baton_noc::Config {
    baton_noc::Config {
        arbiter: ArbiterKind::Ocor,
        mark_outranks_speculation: ocor.outranks_speculation,
        marked_first: ocor.marked_first,
        random_ties: ocor.ties == Ties::Random,
        seed: random.next(),
        ..router
    }
}

impl<S: CoreSet> Coherent<S> {
    /// The memory system of a chip for `lines` lines of guest memory.
    pub(crate) fn new(
        chip: &Chip,
        config: &coherent::Coherent,
        lines: usize,
        mut random: Random,
    ) -> Result<Coherent<S>, Unbuilt> {
        let line_bytes = chip.cache.line_bytes;
        let count = chip.core.count;
        let network = &config.network;
        let Some(floor) = chip.plan() else { unreachable!("a coherent chip has a floor plan") };
        // A home may refuse requests for a while, and a device; forwards, responses and answers are always taken.
        let response_class = u32::from(REQUESTS) + 1;
        let devices: Vec<_> = chip.devices.iter().flat_map(|devices| devices.each()).collect();
        let own = floor.devices.iter().zip(&devices).filter_map(|(&node, device)| {
            device.places.map(|places| Places { nodes: vec![node], class: DEVICE_CLASS, places })
        });
        let router = baton_noc::Config {
            endpoint_places: config.home.places,
            response_class,
            places: own.collect(),
            ..floor.network.clone()
        };
        let ocor = config.ocor;
        let router = if ocor.enabled && ocor.heeded { marked_network(router, &ocor, &mut random) } else { router };
        let devices: Box<[_]> =
            devices.iter().map(|device| (device.flits.unwrap_or(0), device.places.is_some())).collect();
        let longest = devices.iter().map(|device| device.0).max().unwrap_or(0);
        let longest = network.data_flits.max(network.control_flits).max(longest);
        let net = Net::new(&router, chip.network_period().unwrap_or(1), longest)?;
        // SAFETY: an array of integers.
        let entry_of = unsafe { Sparse::new(lines) }.map_err(|error| Unbuilt::Memory(error.to_string()))?;
        let outer = config.l2.unwrap_or(config.l1);
        let at_reference = OwnTimes::new(chip, config);
        let policy = match config.home.policy {
            HomePolicy::Blocking => Policy::Blocking,
            HomePolicy::NonBlocking => Policy::Nonblocking,
        };
        let mut flights = Flights::new();
        let memories = Memories::new(&config.dram, line_bytes, |number| flights.put(Memories::kick_flight(number)));
        Ok(Coherent {
            now: 0,
            next: u64::MAX,
            net_next: u64::MAX,
            own: vec![at_reference; count as usize].into(),
            at_reference,
            times: Times {
                directory: config.directory.latency.0,
                bank: config.shared.map_or(config.directory.latency.0, |shared| shared.bank.latency.0),
                home_cycles: config.home.cycles.0,
                home_atomic: config.home.atomic.0,
                local: network.local.0,
            },
            atomics: config.atomics,
            siblings: chip.core.contexts != 1,
            mshrs: outer.mshrs,
            control_flits: network.control_flits,
            data_flits: network.data_flits,
            devices,
            bounded: config.home.places != 0,
            inclusive: config.shared.is_some_and(|shared| shared.inclusion == Inclusion::Inclusive),
            pointers: match config.directory.kind {
                DirectoryKind::Full => u16::MAX,
                DirectoryKind::Pointers(n) => n as u16,
            },
            no_contention: network.contention == Contention::None,
            marks: [ocor.enabled, ocor.enabled && ocor.mark_forwards, ocor.enabled && ocor.mark_responses],
            urgent: ocor.enabled && ocor.rule.has_urgent(),
            protocol: policy.protocol(),
            plan: Plan::new(chip, config, floor, lines),
            net,
            arrived: Vec::new(),
            flights,
            events: EventQueue::new(),
            l1: config.l2.is_some().then(|| Array::new(&config.l1, line_bytes, count)),
            outer: Array::new(&outer, line_bytes, count),
            cores: vec![Own::default(); count as usize],
            slots: Slab::new(),
            waiters: Slab::new(),
            outstanding: 0,
            progress: 0,
            entry_of,
            entries: Vec::new(),
            homes: (0..config.home.banks).map(|_| Home::default()).collect(),
            bank: config.shared.map(|shared| Array::new(&shared.bank, line_bytes, config.home.banks)),
            victims: 0,
            memories,
            out: Vec::new(),
            counts: Counts::new(chip.core.count),
            golden: Golden::default(),
            #[cfg(test)]
            loses: None,
        })
    }
}
