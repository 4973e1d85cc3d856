//! Flattened butterfly: every router is linked with all others of its row and of its column.
//!
//! Source: Kim, Dally, Abts, "Flattened butterfly", ISCA 2007. The length of a link is the distance
//! of its routers in tiles.

use super::graph::{Graph, Grid};

pub(super) fn build(size: [u32; 2], concentration: u32) -> Graph {
    let [width, height] = size;
    let mut graph = Graph::new(width * height);
    for y in 0..height {
        for x in 0..width {
            for other in (0..width).filter(|o| *o != x) {
                graph.link(y * width + x, y * width + other, other.abs_diff(x));
            }
            for other in (0..height).filter(|o| *o != y) {
                graph.link(y * width + x, other * width + x, other.abs_diff(y));
            }
        }
    }
    for router in 0..graph.routers {
        for _ in 0..concentration {
            graph.attach(router, router);
        }
    }
    graph.grid = Some(Grid { width, height, wrap: false, full: true, concentration, toward: vec![] });
    graph
}
