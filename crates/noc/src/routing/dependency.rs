//! The channel dependency graph: a vertex is a class of virtual channels on a link, an edge says that a packet may
//! hold the one while it waits for the other. No cycle, no deadlock (Dally and Seitz 1987). With an escape class the
//! graph is the extended one of the escape channels alone (Duato 1993): an edge also joins two escape channels
//! between which the packet may have gone by adaptive ones.
//!
//! The extended edges are as many as pairs of channels, so they are never written down: between the escape channels
//! stand vertices of their own, one for each (router, destination), and an adaptive hop is an edge between two of
//! these. A cycle of the extended graph is a cycle of this one, and looking for it costs no more than its edges.

use super::table::{Choice, NO_ROUTE, Routes};
use crate::topology::{Graph, LinkAt};

struct Dependencies<'a> {
    routes: &'a Routes,
    graph: &'a Graph,
    link_at: LinkAt,
    /// [link · classes + class]: the router at the link's end.
    ends: Vec<u32>,
    /// [link · classes + class] → (link, class) list, without doubles. Not used with an escape class.
    next: Vec<Vec<u32>>,
}

impl<'a> Dependencies<'a> {
    /// No edges yet.
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

    /// Dependencies of one deterministic table: only along ways that start at a node.
    fn add_table(&mut self, table: &[u16]) {
        // The destination for which a router was walked last.
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
                    // A router that was walked has its own way on in the graph already; the edge into it is new.
                    let Some(wanted) = wanted.filter(|_| seen[at] != to) else { break };
                    seen[at] = to;
                    held = Some(wanted);
                    at = self.end(wanted);
                }
            }
        });
    }

    /// Dependencies of a choice of ports without escape.
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

    /// The number of vertices: links by class, and with an escape class (router, destination) behind them.
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

    /// The successor of `v` from position `at` on, and the position behind it.
    fn successor(&self, v: usize, at: usize) -> Option<(usize, usize)> {
        if !self.escape() {
            return self.next[v].get(at).map(|n| (*n as usize, at + 1));
        }
        let (nodes, links) = (self.routes.nodes, self.links());
        let between = |router: usize, to: usize| links + router * nodes + to;
        if v < links {
            // An escape channel: on to its end, for every destination whose way it is. Adaptive classes are no escape.
            let router = self.graph.links[v / self.routes.classes].from as usize;
            let uses = |to: &usize| self.vertex(router, self.routes.table[router * nodes + to]) == Some(v);
            return (at..nodes).find(uses).map(|to| (between(self.end(v), to), to + 1));
        }
        // A packet in `router` for `to`: by any adaptive port, and last by the escape.
        let (router, to) = ((v - links) / nodes, (v - links) % nodes);
        for port in bits(self.ports(router, to)).skip_while(|p| usize::from(*p) < at) {
            if let Some(hop) = self.vertex(router, port) {
                return Some((between(self.end(hop), to), usize::from(port) + 1));
            }
        }
        let way_out = self.vertex(router, self.routes.table[router * nodes + to]).filter(|_| at <= LAST);
        way_out.map(|w| (w, LAST + 1))
    }

    /// A cycle, found by depth-first search without recursion: each edge is looked at once.
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

/// Ports of a set, as entries of class 0: adaptive hops have the class that no table names.
fn bits(mut set: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let port = (set != 0).then(|| set.trailing_zeros() as u16)?;
        set &= set - 1;
        Some(port)
    })
}

/// A cycle of the channel dependency graph as a printed chain, or `None`: the routing cannot deadlock.
///
/// Valiant's second phase uses classes of its own and never returns to the first, so the two are shown one by one.
pub fn dependency_cycle(routes: &Routes, graph: &Graph) -> Option<String> {
    let mut d = Dependencies::new(routes, graph);
    match routes.choice {
        Choice::Port { escape: true } => {}
        Choice::Port { escape: false } => d.add_ports(),
        _ => routes.table.chunks(routes.routers * routes.nodes).for_each(|t| d.add_table(t)),
    }
    let cycle = d.cycle()?;
    // Adaptive hops between two escape channels are how the one comes to wait for the other; they are left out.
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

    /// Duato's extended graph as it is defined: an edge from each escape channel to the escape channels of all routers
    /// that adaptive hops can reach from its end; a cycle by transitive closure.
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
            // The escape is the shortest path, at random the lowest or the highest port; adaptive hops are some of the
            // minimal ones.
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
