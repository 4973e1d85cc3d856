//! Where everything is: the nodes of cores, homes and controllers in the network, and which of them a line belongs to.

use super::message::Unit;
use crate::config::Chip;
use crate::config::coherent::{Coherent, HomePlacement, Placement, Topology};
use baton_noc::Config;
use baton_noc::topology::{GraphFile, GraphLink, TopologyConfig};
use std::collections::BTreeMap;

/// Message classes: requests, forwards, responses.
pub(super) const CLASSES: u32 = 3;
/// The class whose messages a home may refuse for a while.
pub(super) const REQUESTS: u8 = 0;

/// Pages of guest memory, for their placement by first touch.
const PAGE_SHIFT: u32 = 12;
/// A page that nobody has touched.
const UNTOUCHED: u16 = u16::MAX;

/// The places of units and lines.
pub(super) struct Plan {
    cores: Vec<u32>,
    homes: Vec<u32>,
    controllers: Vec<u32>,
    /// By page, who touched it first; empty where lines go round all homes.
    pages: Vec<u16>,
    page_lines_shift: u32,
    cores_a_node: u32,
    homes_a_node: u32,
    controllers_a_node: u32,
    /// Lines that go to one controller before the next one's turn.
    stretch: u32,
}

impl Plan {
    pub(super) fn new(chip: &Chip, coherent: &Coherent, lines: usize) -> Plan {
        let (count, line_bytes) = (chip.core.count, chip.cache.line_bytes);
        let (banks, controllers) = (coherent.home.banks, coherent.dram.controllers);
        let first_touch = coherent.home.placement == HomePlacement::FirstTouch;
        let nodes = if first_touch { count / (chip.core.per_cluster * chip.core.clusters_per_socket) } else { 1 };
        let own_ports = matches!(coherent.network.topology, Topology::Crossbar | Topology::Bus | Topology::Dies);
        let spread = |units: u32, first: u32| -> Vec<u32> {
            if own_ports {
                (first..first + units).collect()
            } else {
                (0..units).map(|unit| unit * (count / units)).collect()
            }
        };
        let page_lines_shift = PAGE_SHIFT.saturating_sub(line_bytes.trailing_zeros());
        Plan {
            cores: (0..count).collect(),
            homes: spread(banks, count),
            controllers: match (own_ports, &coherent.dram.placement) {
                (true, _) | (_, Placement::All) => spread(controllers, count + banks),
                (_, placement) => placed(placement, controllers, coherent.network.width, coherent.network.height),
            },
            pages: vec![UNTOUCHED; if first_touch { (lines >> page_lines_shift) + 1 } else { 0 }],
            page_lines_shift,
            cores_a_node: count / nodes,
            homes_a_node: banks / nodes,
            controllers_a_node: controllers / nodes,
            stretch: (coherent.dram.interleave_bytes / u64::from(line_bytes)).max(1) as u32,
        }
    }

    /// The network's node of a unit.
    #[inline]
    pub(super) fn node(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Core(core) => self.cores[core as usize],
            Unit::Home(home) => self.homes[home as usize],
            Unit::Controller(controller) => self.controllers[controller as usize],
        }
    }

    /// `core` asks for a line: its page belongs from now on to the core's NUMA node, if nobody asked before.
    #[inline]
    pub(super) fn touch(&mut self, line: u32, core: u32) {
        if !self.pages.is_empty() {
            let owner = &mut self.pages[(line >> self.page_lines_shift) as usize];
            if *owner == UNTOUCHED {
                *owner = (core / self.cores_a_node) as u16;
            }
        }
    }

    #[inline]
    fn numa_node(&self, line: u32) -> u32 {
        match self.pages.get((line >> self.page_lines_shift) as usize) {
            Some(&node) if node != UNTOUCHED => u32::from(node),
            _ => 0,
        }
    }

    /// The home of a line, and the line's number among those of that home.
    #[inline]
    pub(super) fn home(&self, line: u32) -> (u32, u32) {
        let n = self.homes_a_node;
        (self.numa_node(line) * n + line % n, line / n)
    }

    /// The controller of a line, and the line's number among those of that controller.
    #[inline]
    pub(super) fn controller(&self, line: u32) -> (u32, u32) {
        let n = self.controllers_a_node;
        let turn = line / self.stretch;
        (self.numa_node(line) * n + turn % n, turn / n * self.stretch + line % self.stretch)
    }
}

/// The nodes of controllers on a grid.
fn placed(placement: &Placement, controllers: u32, width: u32, height: u32) -> Vec<u32> {
    let last = width * height - 1;
    match placement {
        Placement::Corners => [0, last, width - 1, last + 1 - width].into_iter().take(controllers as usize).collect(),
        Placement::Rows if height == 1 || controllers == 1 => middle(0, width, controllers),
        Placement::Rows => {
            let mut nodes = middle(0, width, controllers / 2);
            nodes.extend(middle(last + 1 - width, width, controllers / 2));
            nodes
        }
        Placement::Nodes(list) => list.clone(),
        Placement::All => (0..controllers).map(|unit| unit * ((last + 1) / controllers)).collect(),
    }
}

/// `n` nodes in the middle of the row that begins at `first`.
fn middle(first: u32, width: u32, n: u32) -> Vec<u32> {
    let from = first + (width - n) / 2;
    (from..from + n).collect()
}

/// The configuration of the chip's network.
pub(super) fn network(chip: &Chip, coherent: &Coherent) -> Config {
    let network = &coherent.network;
    let count = chip.core.count;
    let nodes = count + coherent.home.banks + coherent.dram.controllers;
    let topology = match network.topology {
        Topology::Mesh => TopologyConfig::Mesh { size: [network.width, network.height] },
        Topology::Torus => TopologyConfig::Torus { size: [network.width, network.height] },
        Topology::Ring => TopologyConfig::Ring { nodes: count },
        Topology::Crossbar => TopologyConfig::Crossbar { nodes },
        Topology::Bus => TopologyConfig::Bus { nodes },
        Topology::Dies => TopologyConfig::Graph(dies(chip, coherent)),
    };
    Config {
        topology,
        vcs: network.vcs * CLASSES,
        classes: CLASSES,
        endpoint_places: coherent.home.places,
        response_class: u32::from(REQUESTS) + 1,
        ..network.router.clone()
    }
}

/// A crossbar a die, and the links between them.
fn dies(chip: &Chip, coherent: &Coherent) -> GraphFile {
    let dies = chip.core.count / chip.core.per_cluster;
    let spread = |units: u32| (0..units).map(move |unit| unit / (units / dies));
    let nodes = spread(chip.core.count).chain(spread(coherent.home.banks)).chain(spread(coherent.dram.controllers));
    // Parallel links would be two of the same; the shortest counts.
    let mut links: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for link in &coherent.network.links.0 {
        let ends = (link.from.min(link.to), link.from.max(link.to));
        let length = links.entry(ends).or_insert(link.length);
        *length = link.length.min(*length);
    }
    let links = links.into_iter().map(|((from, to), length)| GraphLink { from, to, length, one_way: false });
    GraphFile { routers: dies, nodes: nodes.collect(), links: links.collect() }
}
