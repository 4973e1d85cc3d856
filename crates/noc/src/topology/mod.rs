//! Topologies: which routers there are, how links join them, and where nodes are attached.
//!
//! Each topology is a file that builds a [`Graph`]. To add one, add a file, a variant of
//! [`TopologyConfig`] and a line in [`TopologyConfig::build`]. The ports of a router are numbered
//! in the order in which its links are added. Nodes come last, so that the local port of a mesh
//! router is its highest.

mod bus;
mod crossbar;
mod file;
mod flattened_butterfly;
mod graph;
mod grid;

pub use file::{GraphFile, GraphLink};
pub use graph::{Attach, Graph, Grid, Link, LinkAt, MAX_PORTS, NO_PORT};

use crate::error::{NocError, bad, lookup};
use serde::{Deserialize, Serialize};

/// A topology as the user writes it in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologyConfig {
    /// A grid of routers with one node each. The number of a node is y · width + x.
    Mesh {
        /// Width and height.
        size: [u32; 2],
    },
    /// A mesh whose rows and columns are closed to rings.
    Torus {
        /// Width and height.
        size: [u32; 2],
    },
    /// Routers in a ring, with one node each.
    Ring {
        /// Number of nodes.
        nodes: u32,
    },
    /// A mesh of routers with several nodes each.
    Cmesh {
        /// Width and height in routers.
        size: [u32; 2],
        /// Number of nodes per router.
        concentration: u32,
    },
    /// A grid in which every router is linked with all others of its row and of its column (Kim,
    /// Dally, Abts, ISCA 2007).
    FlattenedButterfly {
        /// Width and height in routers.
        size: [u32; 2],
        /// Number of nodes per router.
        concentration: u32,
    },
    /// One router that all nodes share.
    Crossbar {
        /// Number of nodes.
        nodes: u32,
    },
    /// One link that all nodes share.
    Bus {
        /// Number of nodes.
        nodes: u32,
    },
    /// Any graph, from the tables of a TOML file.
    Graph(GraphFile),
}

impl Default for TopologyConfig {
    fn default() -> TopologyConfig {
        TopologyConfig::Mesh { size: [8, 8] }
    }
}

const NAMES: [(&str, u8); 7] =
    [("mesh", 0), ("torus", 1), ("ring", 2), ("cmesh", 3), ("flattened-butterfly", 4), ("crossbar", 5), ("bus", 6)];

impl TopologyConfig {
    /// The names that [`TopologyConfig::named`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns the topology with the name and size that the command line gives (`mesh`, [8, 8];
    /// `ring`, [16, 1]). Fails if the name is unknown.
    pub fn named(name: &str, size: [u32; 2], concentration: u32) -> Result<TopologyConfig, NocError> {
        let nodes = size[0].saturating_mul(size[1]);
        Ok(match lookup("topology", name, &NAMES)? {
            0 => TopologyConfig::Mesh { size },
            1 => TopologyConfig::Torus { size },
            2 => TopologyConfig::Ring { nodes },
            3 => TopologyConfig::Cmesh { size, concentration },
            4 => TopologyConfig::FlattenedButterfly { size, concentration },
            5 => TopologyConfig::Crossbar { nodes },
            _ => TopologyConfig::Bus { nodes },
        })
    }

    /// Returns the topology's name in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            TopologyConfig::Mesh { .. } => "mesh",
            TopologyConfig::Torus { .. } => "torus",
            TopologyConfig::Ring { .. } => "ring",
            TopologyConfig::Cmesh { .. } => "cmesh",
            TopologyConfig::FlattenedButterfly { .. } => "flattened-butterfly",
            TopologyConfig::Crossbar { .. } => "crossbar",
            TopologyConfig::Bus { .. } => "bus",
            TopologyConfig::Graph(_) => "graph",
        }
    }

    /// Checks sizes before anything is allocated. An error names the key and its range.
    pub(crate) fn validate(&self) -> Result<(), NocError> {
        let side = |v: u32| {
            if (1..=1024).contains(&v) { Ok(()) } else { Err(bad("topology.size", v, "1 to 1024 a side")) }
        };
        let few = |v: u32, ports: u32| {
            let most = MAX_PORTS - ports;
            if (1..=most).contains(&v) {
                Ok(())
            } else {
                Err(bad("topology.concentration", v, format!("1 to {most} (a router has at most {MAX_PORTS} ports)")))
            }
        };
        match self {
            TopologyConfig::Mesh { size } | TopologyConfig::Torus { size } => size.iter().try_for_each(|s| side(*s)),
            TopologyConfig::Ring { nodes } | TopologyConfig::Bus { nodes } | TopologyConfig::Crossbar { nodes } => {
                let most = if matches!(self, TopologyConfig::Ring { .. }) { 65536 } else { MAX_PORTS };
                if (1..=most).contains(nodes) {
                    Ok(())
                } else {
                    Err(bad("topology.nodes", nodes, format!("1 to {most}")))
                }
            }
            TopologyConfig::Cmesh { size, concentration } => {
                size.iter().try_for_each(|s| side(*s))?;
                few(*concentration, 4)
            }
            TopologyConfig::FlattenedButterfly { size, concentration } => {
                size.iter().try_for_each(|s| side(*s))?;
                let links = size[0] + size[1] - 2;
                if links >= MAX_PORTS {
                    return Err(bad("topology.size", format!("{}x{}", size[0], size[1]), "at most 63 links a router"));
                }
                few(*concentration, links)
            }
            TopologyConfig::Graph(file) => file.validate(),
        }
    }

    /// Returns the numbers of routers, nodes and links without building the graph.
    pub(crate) fn extent(&self) -> (u64, u64, u64) {
        let grid = |size: &[u32; 2], local: u32, links: u64| {
            let routers = u64::from(size[0]) * u64::from(size[1]);
            (routers, routers * u64::from(local), routers * links)
        };
        match self {
            TopologyConfig::Mesh { size } | TopologyConfig::Torus { size } => grid(size, 1, 4),
            TopologyConfig::Ring { nodes } => grid(&[*nodes, 1], 1, 2),
            TopologyConfig::Cmesh { size, concentration } => grid(size, *concentration, 4),
            TopologyConfig::FlattenedButterfly { size, concentration } => {
                grid(size, *concentration, (u64::from(size[0]) + u64::from(size[1])).saturating_sub(2))
            }
            TopologyConfig::Crossbar { nodes } => (1, u64::from(*nodes), 0),
            TopologyConfig::Bus { nodes } => (2, u64::from(*nodes), 1),
            TopologyConfig::Graph(file) => (file.routers.into(), file.nodes.len() as u64, 2 * file.links.len() as u64),
        }
    }

    /// Builds the graph. Fails if a graph file is invalid. Call [`crate::Config::validate`] first,
    /// which limits the size.
    pub fn build(&self) -> Result<Graph, NocError> {
        match self {
            TopologyConfig::Mesh { size } => Ok(grid::build(*size, 1, false)),
            TopologyConfig::Torus { size } => Ok(grid::build(*size, 1, true)),
            TopologyConfig::Ring { nodes } => Ok(grid::build([*nodes, 1], 1, true)),
            TopologyConfig::Cmesh { size, concentration } => Ok(grid::build(*size, *concentration, false)),
            TopologyConfig::FlattenedButterfly { size, concentration } => {
                Ok(flattened_butterfly::build(*size, *concentration))
            }
            TopologyConfig::Crossbar { nodes } => Ok(crossbar::build(*nodes)),
            TopologyConfig::Bus { nodes } => Ok(bus::build(*nodes)),
            TopologyConfig::Graph(file) => file.build(),
        }
    }
}
