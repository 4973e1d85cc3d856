//! The prices of single accesses on an idle chip of any memory model, for code that must price an
//! access without simulating it. For a coherent chip these are the formulas of
//! `docs/reference/chip.md`, which `crates/chip/tests/memory/latency.rs` compares with the
//! simulation.

use super::cache::{ByDistance, Distance};
use super::chip::Chip;
use super::coherent::Coherent;
use super::plan::Plan;
use baton_noc::arbiter::RoundRobin;
use baton_noc::{Config, Delivered, Header, Network, NocError, Packet};
use baton_units::{CoreId, Cycles, NodeId};

/// Prices of single accesses, in cycles of the core's clock. Where lines have many homes, the price
/// is the mean over homes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// The price of a line in the core's nearest cache.
    pub hit: Cycles,
    /// The price of a line in the private second level; `None` if the chip has no such level.
    pub l2: Option<Cycles>,
    /// The price of a line that is in its home's bank and in no core's cache; `None` if the chip
    /// has no banks.
    pub bank: Option<Cycles>,
    /// The price of a line that no cache holds.
    pub memory: Cycles,
    /// The price of a line that another core's cache owns; 0 for a distance that no two cores have.
    pub transfer: ByDistance,
    /// The price of writing a line of which the core's nearest cache and one other core have
    /// copies.
    pub upgrade: ByDistance,
}

/// Largest number of homes of which all are measured; of more homes, an even sample is measured.
const MOST_HOMES: usize = 64;

impl Prices {
    /// The prices of a chip. An error if its network cannot be built; simulating such a chip is
    /// refused with the same error.
    pub fn of(chip: &Chip) -> Result<Prices, NocError> {
        let (Some(coherent), Some(plan)) = (&chip.coherent, chip.plan()) else {
            let cache = &chip.cache;
            return Ok(Prices {
                hit: cache.hit,
                memory: cache.memory,
                transfer: cache.transfer,
                upgrade: cache.upgrade,
                ..Prices::default()
            });
        };
        let mut ways = Ways::new(chip, coherent, &plan)?;
        let l1 = coherent.l1.latency.0;
        let lookup = l1 + coherent.l2.map_or(0, |l2| l2.latency.0);
        let directory = coherent.directory.latency.0;
        let step = plan.homes.len().div_ceil(MOST_HOMES);
        let homes: Vec<(usize, u32)> = plan.homes.iter().copied().enumerate().step_by(step).collect();
        let mut mean = |f: &mut dyn FnMut(&mut Ways, usize, u32) -> u64| {
            let sum: u64 = homes.iter().map(|&(at, home)| f(&mut ways, at, home)).sum();
            Cycles((sum + homes.len() as u64 / 2) / homes.len().max(1) as u64)
        };
        let core = plan.cores[0];
        let dram = &coherent.dram;
        let burst = (f64::from(chip.cache.line_bytes) / dram.bytes_per_cycle).ceil() as u64;
        let memory = mean(&mut |ways, at, home| {
            let controller = plan.controllers[at * plan.controllers.len() / plan.homes.len()];
            let fetch = ways.ask(home, controller) + dram.row_miss.0 + burst + ways.line(controller, home);
            lookup + ways.ask(core, home) + directory + fetch + ways.line(home, core)
        });
        let bank = coherent.shared.map(|shared| {
            let latency = shared.bank.latency.0;
            mean(&mut |ways, _, home| lookup + ways.ask(core, home) + latency + ways.line(home, core))
        });
        let (mut transfer, mut upgrade) = (ByDistance::default(), ByDistance::default());
        for distance in [Distance::SameCluster, Distance::SameSocket, Distance::CrossSocket] {
            let apart = |other: &u32| chip.distance(CoreId(0), CoreId(*other)) == distance;
            let Some(other) = (1..chip.core.count).find(apart) else { continue };
            let other = plan.cores[other as usize];
            *transfer.at_mut(distance) = mean(&mut |ways, _, home| {
                let forward = ways.ask(core, home) + directory + ways.ask(home, other);
                lookup + forward + lookup + ways.line(other, core)
            });
            *upgrade.at_mut(distance) = mean(&mut |ways, _, home| {
                // A node sends one flit in a cycle: first the count of acknowledgements, then the
                // invalidation.
                let second = if home != core && home != other { ways.ratio } else { 0 };
                let acknowledged = second + ways.ask(home, other) + lookup + ways.ask(other, core);
                // The core that has the line looks no further than the level that holds it.
                l1 + ways.ask(core, home) + directory + ways.ask(home, core).max(acknowledged)
            });
        }
        let l2 = coherent.l2.map(|_| Cycles(lookup));
        Ok(Prices { hit: Cycles(l1), l2, bank, memory, transfer, upgrade })
    }
}

/// The price of lines of a NUMA node to a core, in cycles of the core's clock, beyond its private
/// caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePrice {
    /// The price of a line that the node's bank of the shared level holds; equal to `memory` on a
    /// chip without a shared level.
    pub bank: Cycles,
    /// The price of a line in the memory of the node, in a row that is not open.
    pub memory: Cycles,
}

impl NodePrice {
    /// The prices by cluster of cores and by NUMA node; empty on a chip of fixed latencies. If
    /// there are several homes or cores, the first counts.
    pub fn by_cluster(chip: &Chip) -> Result<Vec<Vec<NodePrice>>, NocError> {
        let (Some(coherent), Some(plan)) = (&chip.coherent, chip.plan()) else { return Ok(Vec::new()) };
        let mut ways = Ways::new(chip, coherent, &plan)?;
        let (dram, nodes) = (&coherent.dram, chip.numa_nodes() as usize);
        let first = |all: &[u32], node: usize| all[node * all.len() / nodes];
        let burst = (f64::from(chip.cache.line_bytes) / dram.bytes_per_cycle).ceil() as u64;
        let mut price = |core: u32, node: usize| {
            let (home, controller) = (first(&plan.homes, node), first(&plan.controllers, node));
            let (to, back) = (ways.ask(core, home), ways.line(home, core));
            let fetch = ways.ask(home, controller) + dram.row_miss.0 + burst + ways.line(controller, home);
            let memory = Cycles(to + coherent.directory.latency.0 + fetch + back);
            let bank = coherent.shared.map_or(memory, |shared| Cycles(to + shared.bank.latency.0 + back));
            NodePrice { bank, memory }
        };
        let cores = plan.cores.chunks(chip.core.per_cluster as usize).map(|cluster| cluster[0]);
        Ok(cores.map(|core| (0..nodes).map(|node| price(core, node)).collect()).collect())
    }
}

impl ByDistance {
    fn at_mut(&mut self, distance: Distance) -> &mut Cycles {
        match distance {
            Distance::SameCore | Distance::SameCluster => &mut self.same_cluster,
            Distance::SameSocket => &mut self.same_socket,
            Distance::CrossSocket => &mut self.cross_socket,
        }
    }
}

/// The time of a message that is alone in the network.
struct Ways {
    empty: Network<RoundRobin>,
    /// Number of core cycles in a cycle of the network.
    ratio: u64,
    local: u64,
    control: u32,
    data: u32,
}

impl Ways {
    fn new(chip: &Chip, coherent: &Coherent, plan: &Plan) -> Result<Ways, NocError> {
        let config = Config { endpoint_places: 0, places: Vec::new(), ..plan.network.clone() };
        Ok(Ways {
            empty: Network::with_arbiter(&config, RoundRobin)?,
            ratio: chip.network_period().unwrap_or(1),
            local: coherent.network.local.0,
            control: coherent.network.control_flits,
            data: coherent.network.data_flits,
        })
    }

    /// Returns the time of a message without data.
    fn ask(&mut self, from: u32, to: u32) -> u64 {
        self.way(from, to, self.control)
    }

    /// Returns the time of a message with a line.
    fn line(&mut self, from: u32, to: u32) -> u64 {
        self.way(from, to, self.data)
    }

    fn way(&mut self, from: u32, to: u32, flits: u32) -> u64 {
        if from == to {
            return self.local;
        }
        let packet = Packet { src: NodeId(from), dst: NodeId(to), flits, header: Header::default(), tag: 0 };
        let sent = self.empty.inject(packet);
        debug_assert!(sent.is_ok(), "the plan has these nodes");
        let mut came: Vec<Delivered> = Vec::new();
        while came.is_empty() && self.empty.in_flight() != 0 {
            self.empty.step(&mut came);
        }
        // Let credits return, so that the next packet finds the network empty.
        while let Some(cycle) = self.empty.next_activity() {
            self.empty.run_to(Cycles(cycle.0 + 1), &mut came);
        }
        // The packet is sent in the cycle before it enters the network.
        came.first().map_or(0, |packet| (packet.packet_latency().0 + 1) * self.ratio)
    }
}
