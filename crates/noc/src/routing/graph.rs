//! Routings for graphs of any shape: shortest path, and up*/down*.

use super::table::{Routes, entry};
use crate::topology::Graph;
use std::collections::VecDeque;

/// Returns the links that end at each router, as (router at which the link begins, output port
/// there).
fn reverse(graph: &Graph) -> Vec<Vec<(u32, u32)>> {
    let mut back = vec![vec![]; graph.routers as usize];
    for l in &graph.links {
        back[l.to as usize].push((l.from, l.from_port));
    }
    back
}

/// Fills `routes` with paths of the fewest hops; among equals, with the lowest port.
pub(super) fn shortest(routes: &mut Routes, graph: &Graph) {
    let back = reverse(graph);
    routes.fill(|to, next| {
        let node = &graph.nodes[to];
        let mut distance = vec![u32::MAX; graph.routers as usize];
        let mut queue = VecDeque::from([node.to_router]);
        distance[node.to_router as usize] = 0;
        next[node.to_router as usize] = entry(node.out_port, 0);
        while let Some(at) = queue.pop_front() {
            for &(from, port) in &back[at as usize] {
                let (far, from) = (distance[at as usize] + 1, from as usize);
                if far < distance[from] {
                    distance[from] = far;
                    next[from] = entry(port, 0);
                    queue.push_back(from as u32);
                } else if far == distance[from] {
                    next[from] = next[from].min(entry(port, 0));
                }
            }
        }
    });
}

/// Fills `routes` with up*/down* paths. A link leads up if its end is nearer to the root (router
/// 0), or equally near with a smaller number. A packet goes up until a path of down links alone
/// leads to its destination, and then takes that path. So no packet turns from down to up, and no
/// ring of waiting packets can close.
pub(super) fn up_down(routes: &mut Routes, graph: &Graph) {
    let routers = graph.routers as usize;
    let mut depth = vec![u32::MAX; routers];
    let mut forward = vec![vec![]; routers];
    for l in &graph.links {
        forward[l.from as usize].push(l.to);
    }
    let mut queue = VecDeque::from([0u32]);
    depth[0] = 0;
    while let Some(at) = queue.pop_front() {
        for &to in &forward[at as usize] {
            if depth[to as usize] == u32::MAX {
                depth[to as usize] = depth[at as usize] + 1;
                queue.push_back(to);
            }
        }
    }
    let rank = |r: u32| (depth[r as usize], r);
    let back = reverse(graph);
    // Routers in the order of rank: the end of an up link has a smaller rank than its beginning, so
    // its distance is known first.
    let mut order: Vec<u32> = (0..graph.routers).collect();
    order.sort_by_key(|r| rank(*r));
    let mut ups = vec![vec![]; routers];
    for l in graph.links.iter().filter(|l| rank(l.to) < rank(l.from)) {
        ups[l.from as usize].push((l.to as usize, l.from_port));
    }
    routes.fill(|to, next| {
        let node = &graph.nodes[to];
        // First the distances by down links alone; then those that begin with up links.
        let mut distance = vec![u32::MAX; routers];
        let home = node.to_router as usize;
        (distance[home], next[home]) = (0, entry(node.out_port, 0));
        let mut queue = VecDeque::from([node.to_router]);
        while let Some(at) = queue.pop_front() {
            for &(from, port) in &back[at as usize] {
                if rank(at) > rank(from) && distance[from as usize] == u32::MAX {
                    distance[from as usize] = distance[at as usize] + 1;
                    next[from as usize] = entry(port, 0);
                    queue.push_back(from);
                }
            }
        }
        for &from in &order {
            if distance[from as usize] != u32::MAX {
                continue;
            }
            let reached = ups[from as usize].iter().filter(|(end, _)| distance[*end] != u32::MAX);
            if let Some((end, port)) = reached.min_by_key(|(end, port)| (distance[*end], *port)) {
                distance[from as usize] = distance[*end] + 1;
                next[from as usize] = entry(*port, 0);
            }
        }
    });
}
