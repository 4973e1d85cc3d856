//! Shared bus: all nodes send into one router, whose only output is the bus, and receive from another.
//! The bus so carries one flit a cycle from whichever node, and its arbiter is the first router's.

use super::graph::Graph;

pub(super) fn build(nodes: u32) -> Graph {
    let mut graph = Graph::new(2);
    graph.link(0, 1, 1);
    for _ in 0..nodes {
        graph.attach(0, 1);
    }
    graph
}
