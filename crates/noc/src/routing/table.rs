//! The common form of every routing: a table, and a choice beside it.

use super::kind::RoutingKind;
use crate::error::{NocError, bad};
use crate::topology::{Graph, LinkAt};

/// What a packet may choose on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The packet chooses nothing: the table decides alone.
    None,
    /// The packet's source chooses one of two tables.
    Table,
    /// The packet's source chooses an intermediate node.
    Intermediate,
    /// Each router chooses an output port, anew in each cycle in which the packet waits there.
    Port {
        /// Whether the packet may take the table's entry when no adaptive port is free.
        escape: bool,
    },
}

/// One entry of a routing table: the output port in the low byte, the class of virtual channels in
/// the high one.
pub(crate) type Entry = u16;

/// Entry of a router from which there is no path to the node.
pub(crate) const NO_ROUTE: Entry = u16::MAX;

pub(crate) fn entry(port: u32, class: u32) -> Entry {
    (port | class << 8) as u16
}

/// A routing, ready to run.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Entries by router · nodes + destination. O1TURN's and Valiant's second table follows the
    /// first.
    pub(crate) table: Vec<Entry>,
    pub(crate) nodes: usize,
    pub(crate) routers: usize,
    pub(crate) choice: Choice,
    /// Number of classes of virtual channels inside a virtual network.
    pub(crate) classes: usize,
    /// Bit set of the output ports that an adaptive packet may take, by router · nodes +
    /// destination.
    pub(crate) ports: Vec<u64>,
    /// Bit set of virtual channels, by virtual network · classes + class.
    pub(crate) masks: Vec<u64>,
    /// The most routers that a packet may pass.
    pub(crate) longest: u32,
}

impl Routes {
    /// Splits the virtual channels of each virtual network between the classes. Fails if there are
    /// too few.
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
                    // The escape class needs one channel; all others are adaptive.
                    Choice::Port { escape: true } if class == 0 => (0, 1),
                    Choice::Port { escape: true } => (1, vcs),
                    _ => (class * vcs / classes, (class + 1) * vcs / classes),
                };
                self.masks.push(ones(base + from, base + to));
            }
        }
        Ok(())
    }

    /// Fills the table one destination at a time: calls `find` with each destination and a slice
    /// for the entry of each router toward it.
    pub(super) fn fill(&mut self, mut find: impl FnMut(usize, &mut [Entry])) {
        let mut toward = vec![NO_ROUTE; TOGETHER * self.routers];
        for first in (0..self.nodes).step_by(TOGETHER) {
            let together = TOGETHER.min(self.nodes - first);
            toward.fill(NO_ROUTE);
            for (i, toward) in toward.chunks_exact_mut(self.routers).take(together).enumerate() {
                find(first + i, toward);
            }
            for (router, row) in self.table.chunks_exact_mut(self.nodes).enumerate() {
                for (i, entry) in row[first..first + together].iter_mut().enumerate() {
                    *entry = toward[i * self.routers + router];
                }
            }
        }
    }

    /// Calls `look` with every destination of `table` and the entries of all routers toward it.
    pub(super) fn by_destination(&self, table: &[Entry], mut look: impl FnMut(usize, &[Entry])) {
        let mut toward = vec![NO_ROUTE; TOGETHER * self.routers];
        for first in (0..self.nodes).step_by(TOGETHER) {
            let together = TOGETHER.min(self.nodes - first);
            for (router, row) in table.chunks_exact(self.nodes).enumerate() {
                for (i, &entry) in row[first..first + together].iter().enumerate() {
                    toward[i * self.routers + router] = entry;
                }
            }
            for (i, toward) in toward.chunks_exact(self.routers).take(together).enumerate() {
                look(first + i, toward);
            }
        }
    }

    /// Follows the table from every node to every node. Returns the number of routers on the longest
    /// path. Fails if a node is not reached.
    pub(super) fn check_connected(&self, graph: &Graph) -> Result<u32, NocError> {
        let mut walk = Walk::new(graph);
        let mut checked = Ok(());
        self.by_destination(&self.table[..self.routers * self.nodes], |to, toward| {
            if checked.is_ok() {
                checked = walk.check_reached(toward, to);
            }
        });
        checked.map(|()| walk.longest)
    }
}

/// Number of destinations that are handled together. The entries toward one destination lie a whole
/// row apart, and those of this many neighbouring destinations fill one cache line of the host.
const TOGETHER: usize = 64 / size_of::<Entry>();

/// Follows routing tables, one destination after another.
struct Walk<'a> {
    graph: &'a Graph,
    link_at: LinkAt,
    /// By router: the last destination, counted from 1, that is known to be reached from the
    /// router.
    reaches: Vec<u32>,
    /// By router: the routers that a packet passes from there to that destination, both ends
    /// included.
    passes: Vec<u32>,
    /// The largest number that `passes` has held.
    longest: u32,
    path: Vec<usize>,
}

impl Walk<'_> {
    fn new(graph: &Graph) -> Walk<'_> {
        let routers = graph.routers as usize;
        let (reaches, passes) = (vec![0; routers], vec![0; routers]);
        Walk { graph, link_at: graph.link_at(), reaches, passes, longest: 0, path: vec![] }
    }

    /// Follows `toward`, the entries of all routers toward node `to`, from every node.
    fn check_reached(&mut self, toward: &[Entry], to: usize) -> Result<(), NocError> {
        let (graph, mark) = (self.graph, to as u32 + 1);
        let node = &graph.nodes[to];
        for (from, source) in graph.nodes.iter().enumerate() {
            let mut at = source.from_router as usize;
            while self.reaches[at] != mark {
                self.path.push(at);
                let port = usize::from(toward[at] & 0xff);
                let lost = || NocError::NotConnected { from: from as u32, to: to as u32 };
                if toward[at] == NO_ROUTE || self.path.len() > toward.len() {
                    return Err(lost());
                }
                match self.link_at.get(at, port) {
                    Some(link) => at = graph.links[link].to as usize,
                    None if at == node.to_router as usize && port == node.out_port as usize => break,
                    None => return Err(lost()),
                }
            }
            // The walk ended at a router whose count is known, or in the destination's own router.
            let mut passed = if self.reaches[at] == mark { self.passes[at] } else { 0 };
            for router in self.path.drain(..).rev() {
                passed += 1;
                (self.reaches[router], self.passes[router]) = (mark, passed);
            }
            self.longest = self.longest.max(passed);
        }
        Ok(())
    }
}
