//! Routing: how a packet chooses its way, and the proof that no ring of packets can wait for itself.
//!
//! Every routing becomes a table before the first cycle ([`Routes`]): for each router and destination node an output
//! port and a class of virtual channels. A routing that has a choice keeps that choice beside the table: two tables
//! (O1TURN), an intermediate node (Valiant), or a set of ports (west-first, minimal adaptive). A new routing is a new
//! file that fills [`Routes`] and a line in [`RoutingKind`]; `dependency.rs` then shows it deadlock-free or refuses it.

mod adaptive;
mod dependency;
mod dimension_order;
mod file;
mod graph;

pub use dependency::dependency_cycle;
pub use file::{Rest, Route, RouteFile};

use crate::config::Config;
use crate::error::{NocError, bad, lookup};
use crate::topology::{Graph, TopologyConfig};
use serde::{Deserialize, Serialize};

/// The registry: every routing that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingKind {
    /// XY on grids, up-down on other graphs.
    Auto,
    /// Dimension order, x first; on a torus with dateline classes.
    Xy,
    /// Dimension order, y first.
    Yx,
    /// XY or YX, chosen by chance for each packet (Seo et al., ISCA 2005). Meshes and tori.
    O1turn,
    /// Turn model: all hops to the west come first (Glass and Ni, ISCA 1992). Meshes.
    WestFirst,
    /// Any minimal hop, with XY on one virtual channel as the escape (Duato 1993). Meshes.
    MinimalAdaptive,
    /// By way of a random node (Valiant 1982).
    Valiant,
    /// The table of a file ([`RouteFile`]); without one, shortest path, lowest port first. On graphs with rings this
    /// can deadlock and is then refused.
    Table,
    /// Up*/down* over a spanning tree (Schroeder et al. 1991): free of deadlock on any graph of two-way links.
    UpDown,
}

/// Names of all routings, for the command line.
pub const ROUTINGS: [(&str, RoutingKind); 9] = [
    ("auto", RoutingKind::Auto),
    ("xy", RoutingKind::Xy),
    ("yx", RoutingKind::Yx),
    ("o1turn", RoutingKind::O1turn),
    ("west-first", RoutingKind::WestFirst),
    ("minimal-adaptive", RoutingKind::MinimalAdaptive),
    ("valiant", RoutingKind::Valiant),
    ("table", RoutingKind::Table),
    ("up-down", RoutingKind::UpDown),
];

impl std::str::FromStr for RoutingKind {
    type Err = NocError;

    fn from_str(name: &str) -> Result<RoutingKind, NocError> {
        lookup("routing", name, &ROUTINGS)
    }
}

impl RoutingKind {
    /// The name in the registry.
    pub fn name(self) -> &'static str {
        ROUTINGS.iter().find(|(_, k)| *k == self).map_or("?", |(n, _)| n)
    }

    /// `Auto` made definite for a topology.
    pub fn resolve(self, topology: &TopologyConfig) -> RoutingKind {
        match (self, topology) {
            (RoutingKind::Auto, TopologyConfig::Graph(_)) => RoutingKind::UpDown,
            (RoutingKind::Auto, TopologyConfig::Crossbar { .. } | TopologyConfig::Bus { .. }) => RoutingKind::Table,
            (RoutingKind::Auto, _) => RoutingKind::Xy,
            (kind, _) => kind,
        }
    }
}

/// What a packet may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing.
    None,
    /// One of two tables, at the source.
    Table,
    /// An intermediate node, at the source.
    Intermediate,
    /// A port, at each router, each cycle that it waits; `escape` says that the table's entry is the way out.
    Port {
        /// Whether the table's entry may be taken when no adaptive port is free.
        escape: bool,
    },
}

/// One entry of a routing table: output port in the low byte, class of virtual channels in the high one.
pub(crate) type Entry = u16;

/// No path.
pub(crate) const NO_ROUTE: Entry = u16::MAX;

pub(crate) fn entry(port: u32, class: u32) -> Entry {
    (port | class << 8) as u16
}

/// A routing, ready to run.
#[derive(Clone, Debug)]
pub struct Routes {
    /// [router · nodes + destination]; O1TURN's second table follows the first.
    pub(crate) table: Vec<Entry>,
    pub(crate) nodes: usize,
    pub(crate) routers: usize,
    pub(crate) choice: Choice,
    /// Classes of virtual channels inside a virtual network.
    pub(crate) classes: usize,
    /// [router · nodes + destination]: output ports that an adaptive packet may take.
    pub(crate) ports: Vec<u64>,
    /// [virtual network · classes + class]: its virtual channels.
    pub(crate) masks: Vec<u64>,
}

impl Routes {
    /// The routes that `config` describes on its `graph`, and the name of their kind.
    pub fn new(config: &Config, graph: &Graph) -> Result<(RoutingKind, Routes), NocError> {
        let kind = match (&config.routes, config.routing) {
            (Some(_), RoutingKind::Auto | RoutingKind::Table) => RoutingKind::Table,
            (Some(_), other) => return Err(bad("routing", other.name(), "`table` with a table of routes")),
            (None, kind) => kind.resolve(&config.topology),
        };
        let nodes = graph.nodes.len();
        let mut routes = Routes {
            table: vec![NO_ROUTE; graph.routers as usize * nodes],
            nodes,
            routers: graph.routers as usize,
            choice: Choice::None,
            classes: 1,
            ports: vec![],
            masks: vec![],
        };
        match kind {
            RoutingKind::Auto | RoutingKind::Xy => dimension_order::fill(&mut routes, graph, false)?,
            RoutingKind::Yx => dimension_order::fill(&mut routes, graph, true)?,
            RoutingKind::O1turn => dimension_order::o1turn(&mut routes, graph)?,
            RoutingKind::Valiant => dimension_order::valiant(&mut routes, graph)?,
            RoutingKind::WestFirst => adaptive::west_first(&mut routes, graph)?,
            RoutingKind::MinimalAdaptive => adaptive::minimal(&mut routes, graph)?,
            RoutingKind::Table => match &config.routes {
                Some(file) => file::fill(&mut routes, graph, file)?,
                None => graph::shortest(&mut routes, graph),
            },
            RoutingKind::UpDown => graph::up_down(&mut routes, graph),
        }
        routes.check_connected(graph)?;
        routes.share_channels(kind, config.vcs / config.classes, config.classes)?;
        Ok((kind, routes))
    }

    /// Splits each virtual network's channels over the classes.
    fn share_channels(&mut self, kind: RoutingKind, vcs: u32, networks: u32) -> Result<(), NocError> {
        let classes = self.classes as u32;
        if vcs < classes {
            let expected = format!("at least {classes} a message class for routing `{}` on this topology", kind.name());
            return Err(bad("vcs", format!("{vcs} a message class"), expected));
        }
        let ones = |from: u32, to: u32| (from..to).fold(0u64, |m, v| m | 1 << v);
        for network in 0..networks {
            let base = network * vcs;
            for class in 0..classes {
                let (from, to) = match self.choice {
                    // The escape needs one channel; all others are adaptive.
                    Choice::Port { escape: true } if class == 0 => (0, 1),
                    Choice::Port { escape: true } => (1, vcs),
                    _ => (class * vcs / classes, (class + 1) * vcs / classes),
                };
                self.masks.push(ones(base + from, base + to));
            }
        }
        Ok(())
    }

    /// Follows the table from every node to every node.
    fn check_connected(&self, graph: &Graph) -> Result<(), NocError> {
        let link_at = graph.link_at();
        for (to, node) in graph.nodes.iter().enumerate() {
            // 1: reaches the node; walked once a router and destination.
            let mut known = vec![false; self.routers];
            for (from, source) in graph.nodes.iter().enumerate() {
                let mut path = vec![];
                let mut at = source.from_router as usize;
                while !known[at] {
                    path.push(at);
                    let e = self.table[at * self.nodes + to];
                    let port = usize::from(e & 0xff);
                    let lost = || NocError::NotConnected { from: from as u32, to: to as u32 };
                    if e == NO_ROUTE || path.len() > self.routers {
                        return Err(lost());
                    }
                    match link_at[at].get(port).copied().flatten() {
                        Some(l) => at = graph.links[l].to as usize,
                        None if at == node.to_router as usize && port == node.out_port as usize => break,
                        None => return Err(lost()),
                    }
                }
                path.into_iter().for_each(|r| known[r] = true);
            }
        }
        Ok(())
    }
}
