//! The channel dependency graph: a vertex is a class of virtual channels on a link, an edge says that a packet may
//! hold the one while it waits for the other. No cycle, no deadlock (Dally and Seitz 1987). With an escape class the
//! graph is the extended one of the escape channels alone (Duato 1993): an edge also joins two escape channels
//! between which the packet may have gone by adaptive ones.

use super::{Choice, NO_ROUTE, Routes};
use crate::topology::Graph;

/// A vertex's successors, as bits of (output port · classes + class) of the link's end.
struct Dependencies<'a> {
    routes: &'a Routes,
    graph: &'a Graph,
    link_at: Vec<Vec<Option<usize>>>,
    /// [link · classes + class] → (link, class) list, without doubles.
    next: Vec<Vec<u32>>,
}

impl Dependencies<'_> {
    fn vertex(&self, router: usize, entry: u16) -> Option<usize> {
        let link = self.link_at[router].get(usize::from(entry & 0xff)).copied().flatten()?;
        Some(link * self.routes.classes + usize::from(entry >> 8))
    }

    fn end(&self, vertex: usize) -> usize {
        self.graph.links[vertex / self.routes.classes].to as usize
    }

    fn add(&mut self, from: usize, to: usize) {
        let to = to as u32;
        if !self.next[from].contains(&to) {
            self.next[from].push(to);
        }
    }

    /// Dependencies of one deterministic table: only along ways that start at a node.
    fn add_table(&mut self, table: &[u16]) {
        let nodes = self.routes.nodes;
        for to in 0..nodes {
            let mut seen = vec![false; self.routes.routers];
            for source in &self.graph.nodes {
                let mut at = source.from_router as usize;
                let mut held = None;
                loop {
                    let wanted = match table[at * nodes + to] {
                        NO_ROUTE => None,
                        e => self.vertex(at, e),
                    };
                    if let (Some(held), Some(wanted)) = (held, wanted) {
                        self.add(held, wanted);
                    }
                    // A router that was walked has its own way on in the graph already; the edge into it is new.
                    let Some(wanted) = wanted.filter(|_| !seen[at]) else { break };
                    seen[at] = true;
                    held = Some(wanted);
                    at = self.end(wanted);
                }
            }
        }
    }

    /// Dependencies of a choice of ports without escape.
    fn add_ports(&mut self) {
        let nodes = self.routes.nodes;
        for to in 0..nodes {
            for router in 0..self.routes.routers {
                for held in self.vertices(router, to) {
                    for wanted in self.vertices(self.end(held), to) {
                        self.add(held, wanted);
                    }
                }
            }
        }
    }

    fn vertices(&self, router: usize, to: usize) -> Vec<usize> {
        let set = self.routes.ports[router * self.routes.nodes + to];
        (0..64).filter(|p| set >> p & 1 == 1).filter_map(|p| self.vertex(router, p)).collect()
    }

    /// Extended dependencies of the escape class: from each escape channel to the escape channel of every router
    /// that adaptive hops can reach from its end.
    fn add_escape(&mut self) {
        let nodes = self.routes.nodes;
        for to in 0..nodes {
            let reach = self.adaptive_reach(to);
            for router in 0..self.routes.routers {
                let Some(held) = self.vertex(router, self.routes.table[router * nodes + to]) else { continue };
                for &there in &reach[self.end(held)] {
                    if let Some(wanted) = self.vertex(there as usize, self.routes.table[there as usize * nodes + to]) {
                        self.add(held, wanted);
                    }
                }
            }
        }
    }

    /// Routers that adaptive hops toward `to` can reach from each router, itself included.
    fn adaptive_reach(&self, to: usize) -> Vec<Vec<u32>> {
        let routers = self.routes.routers;
        let ends: Vec<Vec<usize>> =
            (0..routers).map(|r| self.vertices(r, to).into_iter().map(|v| self.end(v)).collect()).collect();
        let mut reach = vec![vec![]; routers];
        for (start, list) in reach.iter_mut().enumerate() {
            let (mut seen, mut stack) = (vec![false; routers], vec![start]);
            seen[start] = true;
            while let Some(r) = stack.pop() {
                list.push(r as u32);
                for &n in &ends[r] {
                    if !std::mem::replace(&mut seen[n], true) {
                        stack.push(n);
                    }
                }
            }
        }
        reach
    }

    /// A cycle, found by depth-first search without recursion.
    fn cycle(&self) -> Option<Vec<usize>> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.next.len()];
        for start in 0..self.next.len() {
            if state[start] != NEW {
                continue;
            }
            let mut path = vec![(start, 0usize)];
            state[start] = OPEN;
            while let Some((at, edge)) = path.last_mut() {
                let Some(&to) = self.next[*at].get(*edge) else {
                    state[*at] = DONE;
                    path.pop();
                    continue;
                };
                *edge += 1;
                let to = to as usize;
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
}

/// A cycle of the channel dependency graph as a printed chain, or `None`: the routing cannot deadlock.
///
/// Valiant's second phase uses classes of its own and never returns to the first, so the two are shown one by one.
pub fn dependency_cycle(routes: &Routes, graph: &Graph) -> Option<String> {
    let next = vec![vec![]; graph.links.len() * routes.classes];
    let mut d = Dependencies { routes, graph, link_at: graph.link_at(), next };
    match routes.choice {
        Choice::Port { escape: true } => d.add_escape(),
        Choice::Port { escape: false } => d.add_ports(),
        _ => routes.table.chunks(routes.routers * routes.nodes).for_each(|t| d.add_table(t)),
    }
    let cycle = d.cycle()?;
    let name = |v: usize| {
        let link = graph.links[v / routes.classes];
        format!("router {} -> {} (class {})", link.from, link.to, v % routes.classes)
    };
    let shown: Vec<String> = cycle.iter().chain(cycle.first()).map(|v| name(*v)).collect();
    Some(shown.join(" waits for "))
}
