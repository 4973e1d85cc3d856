//! The floor plan of a coherent chip: its network, and the node to which each core, home and
//! controller is attached.
//!
//! On a mesh, torus or ring each node has one core: core `i` is at node `i`, and homes, controllers
//! and devices share nodes with cores. On a crossbar, on a bus and within a die each unit has a
//! node of its own: nodes count cores first, then homes, then controllers, then devices on the
//! network.

use super::chip::Chip;
use super::coherent::{Coherent, Placement, Topology};
use super::device::{Devices, Link};
use super::mechanism::Annotator;
use baton_noc::Config;
use baton_noc::topology::{GraphFile, GraphLink, TopologyConfig};

/// Number of message classes of the coherence protocol: request, forward, response.
pub const CLASSES: u32 = 3;

/// The place of every unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The configuration of the network, in cycles of the network's clock.
    pub network: Config,
    /// Number of nodes in the network.
    pub nodes: u32,
    /// The node of each core, by core number.
    pub cores: Vec<u32>,
    /// The node of each home. Homes of one NUMA node (and of one die) are consecutive.
    pub homes: Vec<u32>,
    /// The node of each memory controller, by controller number.
    pub controllers: Vec<u32>,
    /// The node of each device that is attached to the network.
    pub devices: Vec<u32>,
}

/// The class of releases that travel in a virtual network of their own, in a network with `classes`
/// classes: the last one.
pub fn release_class(classes: u32) -> u8 {
    (classes - 1) as u8
}

/// The class of requests to devices; answers and interrupts of devices have the next class. A chip
/// without devices on its network has neither class.
pub const DEVICE_CLASS: u32 = CLASSES;

impl Chip {
    /// The number of NUMA nodes: sockets, as the operating system sees them.
    pub fn numa_nodes(&self) -> u32 {
        self.core.count / (self.core.per_cluster * self.core.clusters_per_socket)
    }

    /// Returns the floor plan; `None` on a chip of fixed latencies.
    pub fn plan(&self) -> Option<Plan> {
        let devices = self.devices.as_ref().filter(|devices| devices.link == Link::Network);
        self.coherent.as_ref().map(|coherent| Plan::new(coherent, self.core.count, self.core.per_cluster, devices))
    }

    /// Returns the number of core cycles in a cycle of the network; `None` on a chip of fixed
    /// latencies.
    pub fn network_period(&self) -> Option<u64> {
        self.coherent.as_ref().map(|coherent| self.core.clock.0 / coherent.network.clock.0)
    }
}

impl Plan {
    fn new(coherent: &Coherent, cores: u32, per_cluster: u32, devices: Option<&Devices>) -> Plan {
        let (banks, controllers) = (coherent.home.banks, coherent.dram.controllers);
        let count = devices.map_or(0, |devices| devices.count);
        let own_ports = cores + banks + controllers + count;
        let network = &coherent.network;
        let size = [network.width, network.height];
        let (topology, nodes) = match network.topology {
            Topology::Mesh => (TopologyConfig::Mesh { size }, cores),
            Topology::Torus => (TopologyConfig::Torus { size }, cores),
            Topology::Ring => (TopologyConfig::Ring { nodes: cores }, cores),
            Topology::Crossbar => (TopologyConfig::Crossbar { nodes: own_ports }, own_ports),
            Topology::Bus => (TopologyConfig::Bus { nodes: own_ports }, own_ports),
            Topology::Dies => {
                let dies = cores / per_cluster;
                (TopologyConfig::Graph(dies_graph(coherent, dies, [cores, banks, controllers, count])), own_ports)
            }
        };
        let tiles = nodes == cores;
        let first = cores + banks + controllers;
        let places = match tiles {
            true => tiles_of(coherent, controllers, &coherent.dram.placement, cores),
            false => (cores + banks..first).collect(),
        };
        let devices = match devices {
            Some(devices) if tiles => tiles_of(coherent, count, &devices.placement, cores),
            _ => (first..own_ports).collect(),
        };
        let of_devices = if devices.is_empty() { 0 } else { 2 };
        let of_releases = u32::from(coherent.mechanisms.active().has_release_network());
        let classes = CLASSES + of_devices + of_releases;
        let config = Config {
            topology,
            vcs: classes * network.vcs,
            classes,
            response_class: CLASSES - 1,
            ..network.router.clone()
        };
        Plan {
            network: config,
            nodes,
            cores: (0..cores).collect(),
            homes: if tiles { spread(banks, cores) } else { (cores..cores + banks).collect() },
            controllers: places,
            devices,
        }
    }
}

/// A crossbar for each die, with the die's share of the units in order, and links between the dies.
fn dies_graph(coherent: &Coherent, dies: u32, units: [u32; 4]) -> GraphFile {
    let nodes = units.iter().flat_map(|&n| (0..n).map(move |i| i * dies / n));
    let link = |link: &super::coherent::DieLink| GraphLink {
        from: link.from,
        to: link.to,
        length: link.length,
        one_way: false,
    };
    let links = coherent.network.links.0.iter().map(link).collect();
    GraphFile { routers: dies, nodes: nodes.collect(), links }
}

/// Spreads `n` units evenly over `nodes`. Returns the node of each.
fn spread(n: u32, nodes: u32) -> Vec<u32> {
    (0..n).map(|i| (u64::from(i) * u64::from(nodes) / u64::from(n)) as u32).collect()
}

/// Returns the nodes of `n` controllers or devices on a topology whose nodes are tiles.
fn tiles_of(coherent: &Coherent, n: u32, placement: &Placement, nodes: u32) -> Vec<u32> {
    let (width, height) = (coherent.network.width, coherent.network.height);
    let middle = |row: u32, n: u32| (0..n).map(move |i| row * width + (width - n) / 2 + i);
    match placement {
        Placement::Nodes(list) => list.clone(),
        Placement::All => spread(n, nodes),
        Placement::Rows if height == 1 || n == 1 => middle(0, n).collect(),
        Placement::Rows => middle(0, n / 2).chain(middle(height - 1, n / 2)).collect(),
        Placement::Corners => {
            let corners = [0, nodes - 1, width - 1, nodes - width];
            corners.into_iter().take(n as usize).collect()
        }
    }
}
