//! Shared bus: all nodes send into one router, whose only link is the bus, and receive from a
//! second router. The bus carries one flit per cycle, and the arbiter of the first router decides
//! which node sends it.

use super::graph::Graph;

pub(super) fn build(nodes: u32) -> Graph {
    let mut graph = Graph::new(2);
    graph.link(0, 1, 1);
    for _ in 0..nodes {
        graph.attach(0, 1);
    }
    graph
}
