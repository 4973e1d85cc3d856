//! The channel dependency graph. A vertex is a class of virtual channels on a link; an edge says
//! that a packet may hold the one while it waits for the other. Without a cycle there can be no
//! deadlock (Dally and Seitz 1987). With an escape class, the graph is the extended one of the
//! escape channels alone (Duato 1993): an edge also joins two escape channels between which a
//! packet may have used adaptive channels.
//!
//! There can be as many extended edges as pairs of channels, so they are never stored. Instead, the
//! graph has further vertices between the escape channels, one for each (router, destination), and
//! an adaptive hop is an edge between two of these. A cycle of the extended graph is a cycle of
//! this one, and the search takes time in proportion to the edges of this graph.

use super::table::{Choice, NO_ROUTE, Routes};
use crate::topology::{Graph, LinkAt};

struct Dependencies<'a> {
    routes: &'a Routes,
    graph: &'a Graph,
    link_at: LinkAt,
    /// Router at the end of the link, by link · classes + class.
    ends: Vec<u32>,
    /// List of edges, without duplicates, by link · classes + class; entries are numbered in the
    /// same way. Not used with an escape class.
    next: Vec<Vec<u32>>,
}

impl<'a> Dependencies<'a> {
    /// Creates the graph without edges.
    fn new(routes: &'a Routes, graph: &'a Graph) -> Dependencies<'a> {
        let classes = routes.classes;
        let ends = graph.links.iter().flat_map(|link| std::iter::repeat_n(link.to, classes)).collect();
        let next = vec![vec![]; graph.links.len() * classes];
        Dependencies { routes, graph, link_at: graph.link_at(), ends, next }
    }

    fn vertex(&self, router: usize, entry: u16) -> Option<usize> {
        if entry == NO_ROUTE {
            return None;
        }
        let link = self.link_at.get(router, usize::from(entry & 0xff))?;
        Some(link * self.routes.classes + usize::from(entry >> 8))
    }

    fn end(&self, vertex: usize) -> usize {
        self.ends[vertex] as usize
    }

    fn add(&mut self, from: usize, to: usize) {
        let to = to as u32;
        if !self.next[from].contains(&to) {
            self.next[from].push(to);
        }
    }

    /// Adds the dependencies of one deterministic table, along the paths that start at nodes.
    fn add_table(&mut self, table: &[u16]) {
        // By router: the destination toward which the router was visited last.
        let mut seen = vec![usize::MAX; self.routes.routers];
        let routes = self.routes;
        routes.by_destination(table, |to, toward| {
            for source in &self.graph.nodes {
                let mut at = source.from_router as usize;
                let mut held = None;
                loop {
                    let wanted = self.vertex(at, toward[at]);
                    if let (Some(held), Some(wanted)) = (held, wanted) {
                        self.add(held, wanted);
                    }
                    // The dependencies behind a visited router are in the graph already; only the
                    // edge into it is new.
                    let Some(wanted) = wanted.filter(|_| seen[at] != to) else { break };
                    seen[at] = to;
                    held = Some(wanted);
                    at = self.end(wanted);
                }
            }
        });
    }

    /// Adds the dependencies of a choice of ports without an escape channel.
    fn add_ports(&mut self) {
        for router in 0..self.routes.routers {
            for to in 0..self.routes.nodes {
                for first in bits(self.ports(router, to)) {
                    let Some(held) = self.vertex(router, first) else { continue };
                    let end = self.end(held);
                    for second in bits(self.ports(end, to)) {
                        if let Some(wanted) = self.vertex(end, second) {
                            self.add(held, wanted);
                        }
                    }
                }
            }
        }
    }

    fn ports(&self, router: usize, to: usize) -> u64 {
        self.routes.ports[router * self.routes.nodes + to]
    }

    /// Number of vertices: one per link and class, and with an escape class one more per (router,
    /// destination).
    fn vertices(&self) -> usize {
        let between = if self.escape() { self.routes.routers * self.routes.nodes } else { 0 };
        self.links() + between
    }

    fn links(&self) -> usize {
        self.graph.links.len() * self.routes.classes
    }

    fn escape(&self) -> bool {
        self.routes.choice == Choice::Port { escape: true }
    }

    /// Returns the next successor of `v` at or after position `at`, and the position behind it.
    fn successor(&self, v: usize, at: usize) -> Option<(usize, usize)> {
        if !self.escape() {
            return self.next[v].get(at).map(|n| (*n as usize, at + 1));
        }
        let (nodes, links) = (self.routes.nodes, self.links());
        let between = |router: usize, to: usize| links + router * nodes + to;
        if v < links {
            // From an escape channel, the packet goes on to the channel's end, for every
            // destination whose route uses this channel. Adaptive classes have no such successors,
            // because they are not escape channels.
            let router = self.graph.links[v / self.routes.classes].from as usize;
            let uses = |to: &usize| self.vertex(router, self.routes.table[router * nodes + to]) == Some(v);
            return (at..nodes).find(uses).map(|to| (between(self.end(v), to), to + 1));
        }
        // From `router`, a packet for `to` goes on through any adaptive port, and last through the
        // escape channel.
        let (router, to) = ((v - links) / nodes, (v - links) % nodes);
        for port in bits(self.ports(router, to)).skip_while(|p| usize::from(*p) < at) {
            if let Some(hop) = self.vertex(router, port) {
                return Some((between(self.end(hop), to), usize::from(port) + 1));
            }
        }
        let way_out = self.vertex(router, self.routes.table[router * nodes + to]).filter(|_| at <= LAST);
        way_out.map(|w| (w, LAST + 1))
    }

    /// Returns a cycle, if there is one. The depth-first search is not recursive and visits each
    /// edge once.
    fn cycle(&self) -> Option<Vec<usize>> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.vertices()];
        for start in 0..self.links() {
            if state[start] != NEW {
                continue;
            }
            let mut path = vec![(start, 0usize)];
            state[start] = OPEN;
            while let Some((at, edge)) = path.last_mut() {
                let Some((to, behind)) = self.successor(*at, *edge) else {
                    state[*at] = DONE;
                    path.pop();
                    continue;
                };
                *edge = behind;
                match state[to] {
                    NEW => {
                        state[to] = OPEN;
                        path.push((to, 0));
                    }
                    OPEN => {
                        let from = path.iter().position(|(v, _)| *v == to).unwrap_or(0);
                        return Some(path[from..].iter().map(|(v, _)| *v).collect());
                    }
                    _ => {}
                }
            }
        }
        None
    }

    fn name(&self, v: usize) -> String {
        if v < self.links() {
            let link = self.graph.links[v / self.routes.classes];
            return format!("router {} -> {} (class {})", link.from, link.to, v % self.routes.classes);
        }
        let (router, to) = ((v - self.links()) / self.routes.nodes, (v - self.links()) % self.routes.nodes);
        format!("router {router} (adaptive, for node {to})")
    }
}

/// The position behind all ports.
const LAST: usize = 64;

/// Yields the ports of a set as table entries of class 0; no table has adaptive hops, so their
/// class is free to use.
fn bits(mut set: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let port = (set != 0).then(|| set.trailing_zeros() as u16)?;
        set &= set - 1;
        Some(port)
    })
}

/// Returns a cycle of the channel dependency graph, printed as a chain. `None` means that the
/// routing cannot deadlock.
///
/// The second phase of Valiant routing uses its own classes and never returns to the first phase,
/// so no cycle runs through both: the dependencies of each table are added alone.
pub fn dependency_cycle(routes: &Routes, graph: &Graph) -> Option<String> {
    let mut d = Dependencies::new(routes, graph);
    match routes.choice {
        Choice::Port { escape: true } => {}
        Choice::Port { escape: false } => d.add_ports(),
        _ => routes.table.chunks(routes.routers * routes.nodes).for_each(|t| d.add_table(t)),
    }
    let cycle = d.cycle()?;
    // Adaptive hops only explain how one escape channel comes to wait for another, so they are left
    // out of the message.
    let channels: Vec<usize> = cycle.iter().copied().filter(|v| *v < d.links()).collect();
    let cycle = if channels.is_empty() { cycle } else { channels };
    let shown: Vec<String> = cycle.iter().chain(cycle.first()).map(|v| d.name(*v)).collect();
    Some(shown.join(" waits for "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::routing::build::Request;
    use crate::routing::kind::RoutingKind;
    use crate::topology::TopologyConfig;

    /// Searches Duato's extended graph as it is defined: it has an edge from each escape channel to
    /// the escape channels of all routers that adaptive hops can reach from its end. Finds a cycle
    /// by transitive closure.
    fn by_definition(d: &Dependencies<'_>) -> bool {
        let (nodes, routers, links) = (d.routes.nodes, d.routes.routers, d.links());
        let mut edge = vec![vec![false; links]; links];
        for to in 0..nodes {
            for start in 0..routers {
                let Some(held) = d.vertex(start, d.routes.table[start * nodes + to]) else { continue };
                let (mut seen, mut stack) = (vec![false; routers], vec![d.end(held)]);
                while let Some(r) = stack.pop() {
                    if std::mem::replace(&mut seen[r], true) {
                        continue;
                    }
                    if let Some(wanted) = d.vertex(r, d.routes.table[r * nodes + to]) {
                        edge[held][wanted] = true;
                    }
                    stack.extend(bits(d.ports(r, to)).filter_map(|p| d.vertex(r, p)).map(|v| d.end(v)));
                }
            }
        }
        for k in 0..links {
            for i in 0..links {
                if edge[i][k] {
                    let through = edge[k].clone();
                    edge[i].iter_mut().zip(through).for_each(|(e, t)| *e |= t);
                }
            }
        }
        (0..links).any(|v| edge[v][v])
    }

    #[test]
    fn the_implicit_graph_finds_what_the_definition_does() {
        let (mut cycles, mut none) = (0, 0);
        for seed in 0..60u64 {
            let mut rng = Rng::new(seed, 1, 1);
            let topology = match seed % 3 {
                0 => TopologyConfig::Mesh { size: [3, 3] },
                1 => TopologyConfig::Torus { size: [3, 3] },
                _ => TopologyConfig::Ring { nodes: 5 },
            };
            let graph = topology.build().unwrap();
            let request = Request { kind: RoutingKind::Table, file: None, topology: &topology, vcs: 6, classes: 1 };
            let (_, mut routes) = Routes::new(&request, &graph).unwrap();
            // The escape path is a shortest path that takes the lowest or the highest port at
            // random; adaptive hops are a random subset of the minimal ones.
            let far = |routes: &Routes, from: usize, to: usize| {
                let (mut at, mut hops) = (from, 0);
                while let Some(v) = Dependencies::new(routes, &graph).vertex(at, routes.table[at * routes.nodes + to]) {
                    (at, hops) = (graph.links[v / routes.classes].to as usize, hops + 1);
                }
                hops
            };
            let shortest = routes.clone();
            let highest = rng.below(2) == 0;
            routes.ports = vec![0; shortest.table.len()];
            for l in &graph.links {
                for to in 0..routes.nodes {
                    let (a, b) = (far(&shortest, l.from as usize, to), far(&shortest, l.to as usize, to));
                    let slot = l.from as usize * routes.nodes + to;
                    if b + 1 == a {
                        if rng.below(3) > 0 {
                            routes.ports[slot] |= 1 << l.from_port;
                        }
                        if highest {
                            routes.table[slot] = l.from_port as u16;
                        }
                    }
                }
            }
            routes.choice = Choice::Port { escape: true };
            let d = Dependencies::new(&routes, &graph);
            let found = dependency_cycle(&routes, &graph);
            assert_eq!(found.is_some(), by_definition(&d), "seed {seed}: {found:?}");
            *if found.is_some() { &mut cycles } else { &mut none } += 1;
        }
        assert!(cycles > 5 && none > 5, "{cycles} with a cycle, {none} without");
    }
}
