//! What every routing becomes: a table, and a choice beside it.

use super::kind::RoutingKind;
use crate::error::{NocError, bad};
use crate::topology::Graph;

/// What a packet may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The table decides alone.
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
    /// Splits each virtual network's channels over the classes.
    pub(super) fn share_channels(&mut self, kind: RoutingKind, vcs: u32, networks: u32) -> Result<(), NocError> {
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
    pub(super) fn check_connected(&self, graph: &Graph) -> Result<(), NocError> {
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
