//! The routings by name.

use crate::error::{NocError, lookup};
use crate::topology::TopologyConfig;
use serde::{Deserialize, Serialize};

/// The routings that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingKind {
    /// XY on grids, up-down on graph files, shortest paths on crossbars and buses.
    Auto,
    /// Dimension order, x first; on a torus with dateline classes.
    Xy,
    /// Dimension order, y first; on a torus with dateline classes.
    Yx,
    /// Chooses XY or YX at random for each packet (Seo et al., ISCA 2005). For grids.
    O1turn,
    /// Turn model in which all hops to the west come first (Glass and Ni, ISCA 1992). For meshes.
    WestFirst,
    /// Any minimal hop, with XY on one virtual channel as the escape (Duato 1993). For meshes.
    MinimalAdaptive,
    /// Dimension order to a random node and from there to the destination (Valiant 1982). For
    /// grids.
    Valiant,
    /// The routing table of the configuration (`RouteFile`). Without one, the shortest path with
    /// the lowest port, which can deadlock on graphs with rings and is then rejected.
    Table,
    /// Up*/down* over a spanning tree (Schroeder et al. 1991): free of deadlock on any graph of
    /// two-way links.
    UpDown,
}

/// All routings with their names in configurations and on the command line.
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
    /// Returns the routing's name in configurations.
    pub fn name(self) -> &'static str {
        ROUTINGS.iter().find(|(_, k)| *k == self).map_or("?", |(n, _)| n)
    }

    /// Replaces `Auto` by the routing that it means for `topology`; returns other routings
    /// unchanged.
    pub fn resolve(self, topology: &TopologyConfig) -> RoutingKind {
        match (self, topology) {
            (RoutingKind::Auto, TopologyConfig::Graph(_)) => RoutingKind::UpDown,
            (RoutingKind::Auto, TopologyConfig::Crossbar { .. } | TopologyConfig::Bus { .. }) => RoutingKind::Table,
            (RoutingKind::Auto, _) => RoutingKind::Xy,
            (kind, _) => kind,
        }
    }
}
