//! Topologies: which routers there are, how links join them, and where the nodes hang.
//!
//! Each topology is one file that builds a [`Graph`]; a new one is a new file, a variant of [`TopologyConfig`] and
//! a line in [`TopologyConfig::build`]. Routers number their input and output ports in the order in which links are
//! added; nodes come last, so that a mesh router's local port is its highest.

mod bus;
mod crossbar;
mod file;
mod flattened_butterfly;
mod grid;

pub use file::{GraphFile, GraphLink};

use crate::error::{NocError, bad, lookup};
use serde::{Deserialize, Serialize};

/// Most ports a router may have: port sets are bit masks of one word.
pub const MAX_PORTS: u32 = 64;

/// A topology as the user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologyConfig {
    /// A grid of routers, one node each. Node id = y · width + x.
    Mesh {
        /// Width and height.
        size: [u32; 2],
    },
    /// A mesh whose rows and columns are closed to rings.
    Torus {
        /// Width and height.
        size: [u32; 2],
    },
    /// Routers in a ring, one node each.
    Ring {
        /// How many.
        nodes: u32,
    },
    /// A mesh of routers with several nodes each.
    Cmesh {
        /// Width and height in routers.
        size: [u32; 2],
        /// Nodes a router.
        concentration: u32,
    },
    /// Every router is linked with all others of its row and of its column (Kim, Dally, Abts, ISCA 2007).
    FlattenedButterfly {
        /// Width and height in routers.
        size: [u32; 2],
        /// Nodes a router.
        concentration: u32,
    },
    /// One router that all nodes share.
    Crossbar {
        /// How many nodes.
        nodes: u32,
    },
    /// One link that all nodes share.
    Bus {
        /// How many nodes.
        nodes: u32,
    },
    /// Any graph, from a TOML file's tables.
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
    /// A topology from its name and size, as the command line gives them (`mesh`, [8, 8]; `ring`, [16, 1]).
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

    /// The name, as in a configuration file.
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

    /// Checks sizes before anything is allocated.
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

    /// Routers, nodes and links, without building them.
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

    /// Builds the graph. Call [`crate::Config::validate`] first.
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

/// A directed link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Upstream router.
    pub from: u32,
    /// Its output port.
    pub from_port: u32,
    /// Downstream router.
    pub to: u32,
    /// Its input port.
    pub to_port: u32,
    /// Length in units of one tile; its latency and energy grow with it.
    pub length: u32,
}

/// Where a node hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Router that takes its packets.
    pub from_router: u32,
    /// Input port there.
    pub in_port: u32,
    /// Router that delivers to it.
    pub to_router: u32,
    /// Output port there.
    pub out_port: u32,
}

/// Where routers stand when they form a grid; dimension-order routings need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Rows and columns are closed to rings.
    pub wrap: bool,
    /// Each router is linked with its whole row and column.
    pub full: bool,
    /// Nodes a router.
    pub concentration: u32,
    /// Output port of each router toward +x, −x, +y, −y; `NO_PORT` at an edge. Empty when `full`.
    pub toward: Vec<[u32; 4]>,
}

/// No such port.
pub const NO_PORT: u32 = u32::MAX;

/// Routers, links and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Number of routers.
    pub routers: u32,
    /// All links.
    pub links: Vec<Link>,
    /// All nodes.
    pub nodes: Vec<Attach>,
    /// Input ports of each router.
    pub in_ports: Vec<u32>,
    /// Output ports of each router.
    pub out_ports: Vec<u32>,
    /// Set where routers form a grid.
    pub grid: Option<Grid>,
}

impl Graph {
    /// A graph of unlinked routers.
    pub fn new(routers: u32) -> Graph {
        let none = vec![0; routers as usize];
        Graph { routers, links: vec![], nodes: vec![], in_ports: none.clone(), out_ports: none, grid: None }
    }

    /// Adds a directed link and gives its output port.
    pub fn link(&mut self, from: u32, to: u32, length: u32) -> u32 {
        let (from_port, to_port) = (self.out_ports[from as usize], self.in_ports[to as usize]);
        self.out_ports[from as usize] += 1;
        self.in_ports[to as usize] += 1;
        self.links.push(Link { from, from_port, to, to_port, length });
        from_port
    }

    /// Adds the next node: its packets enter at `from_router` and leave at `to_router`.
    pub fn attach(&mut self, from_router: u32, to_router: u32) {
        let (in_port, out_port) = (self.in_ports[from_router as usize], self.out_ports[to_router as usize]);
        self.in_ports[from_router as usize] += 1;
        self.out_ports[to_router as usize] += 1;
        self.nodes.push(Attach { from_router, in_port, to_router, out_port });
    }

    /// The link that leaves `router` by `port`, if that port is not a node's.
    pub fn link_at(&self) -> Vec<Vec<Option<usize>>> {
        let mut at: Vec<Vec<Option<usize>>> = self.out_ports.iter().map(|n| vec![None; *n as usize]).collect();
        for (i, l) in self.links.iter().enumerate() {
            at[l.from as usize][l.from_port as usize] = Some(i);
        }
        at
    }

    /// Most ports of any router, inputs and outputs alike.
    pub fn max_ports(&self) -> u32 {
        self.in_ports.iter().chain(&self.out_ports).copied().max().unwrap_or(0)
    }
}
