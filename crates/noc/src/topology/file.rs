//! Any graph, as tables of a TOML file: the number of routers, the links, and the router of each
//! node.
//!
//! ```toml
//! [topology]
//! kind = "graph"
//! routers = 3
//! nodes = [0, 1, 2]              # node i hangs on router nodes[i]
//! links = [
//!   { from = 0, to = 1 },        # both directions, length 1
//!   { from = 1, to = 2, length = 3, one_way = false },
//! ]
//! ```

use super::graph::{Graph, MAX_PORTS};
use crate::error::{NocError, bad};
use serde::{Deserialize, Serialize};

/// A graph as a list of routers, nodes and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphFile {
    /// Number of routers; they are numbered from 0.
    pub routers: u32,
    /// The router to which each node is attached.
    pub nodes: Vec<u32>,
    /// Links between routers; each works in both directions unless it says otherwise.
    pub links: Vec<GraphLink>,
}

/// A link between two routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Router at which the link begins.
    pub from: u32,
    /// Router at which the link ends.
    pub to: u32,
    /// Length in tiles, 1 if left out.
    #[serde(default = "one")]
    pub length: u32,
    /// Whether the link leads only from `from` to `to`.
    #[serde(default)]
    pub one_way: bool,
}

fn one() -> u32 {
    1
}

impl GraphFile {
    pub(super) fn validate(&self) -> Result<(), NocError> {
        if !(1..=1 << 20).contains(&self.routers) {
            return Err(bad("topology.routers", self.routers, "1 to 1048576"));
        }
        if self.nodes.is_empty() || self.nodes.len() > 1 << 20 {
            return Err(bad("topology.nodes", self.nodes.len(), "1 to 1048576 nodes"));
        }
        let last = self.routers - 1;
        for (i, router) in self.nodes.iter().enumerate() {
            if *router > last {
                return Err(bad(&format!("topology.nodes[{i}]"), router, format!("a router from 0 to {last}")));
            }
        }
        for (i, l) in self.links.iter().enumerate() {
            for (end, router) in [("from", l.from), ("to", l.to)] {
                if router > last {
                    let key = format!("topology.links[{i}].{end}");
                    return Err(bad(&key, router, format!("a router from 0 to {last}")));
                }
            }
            if l.from == l.to {
                return Err(bad(&format!("topology.links[{i}].to"), l.to, "another router than `from`"));
            }
            if !(1..=64).contains(&l.length) {
                return Err(bad(&format!("topology.links[{i}].length"), l.length, "1 to 64"));
            }
        }
        Ok(())
    }

    pub(super) fn build(&self) -> Result<Graph, NocError> {
        let mut graph = Graph::new(self.routers);
        for l in &self.links {
            graph.link(l.from, l.to, l.length);
            if !l.one_way {
                graph.link(l.to, l.from, l.length);
            }
        }
        for router in &self.nodes {
            graph.attach(*router, *router);
        }
        let most = graph.max_ports();
        if most > MAX_PORTS {
            return Err(bad("topology.links", most, format!("at most {MAX_PORTS} ports a router, its nodes included")));
        }
        Ok(graph)
    }
}
