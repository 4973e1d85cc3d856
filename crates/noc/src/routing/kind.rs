//! The names of routings.

use crate::error::{NocError, lookup};
use crate::topology::TopologyConfig;
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
    /// The table of a file (`RouteFile`); without one, shortest path, lowest port first. On graphs with rings this
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
