//! Mesh, torus, ring and concentrated mesh: routers on a grid, linked with their neighbours.

use super::graph::{Graph, Grid, NO_PORT};

pub(super) fn build(size: [u32; 2], concentration: u32, wrap: bool) -> Graph {
    let [width, height] = size;
    let mut graph = Graph::new(width * height);
    let mut toward = vec![[NO_PORT; 4]; graph.routers as usize];
    // The links of a folded torus are two tiles long. They get length 1 here, as in the reference's
    // torus of unit links.
    let step = |at: u32, side: u32, up: bool| -> Option<u32> {
        match (up, wrap && side > 1) {
            (true, _) if at + 1 < side => Some(at + 1),
            (true, true) => Some(0),
            (false, _) if at > 0 => Some(at - 1),
            (false, true) => Some(side - 1),
            _ => None,
        }
    };
    for y in 0..height {
        for x in 0..width {
            let here = y * width + x;
            let neighbours = [
                step(x, width, true).map(|x| y * width + x),
                step(x, width, false).map(|x| y * width + x),
                step(y, height, true).map(|y| y * width + x),
                step(y, height, false).map(|y| y * width + x),
            ];
            for (direction, neighbour) in neighbours.into_iter().enumerate() {
                if let Some(there) = neighbour {
                    toward[here as usize][direction] = graph.link(here, there, 1);
                }
            }
        }
    }
    for router in 0..graph.routers {
        for _ in 0..concentration {
            graph.attach(router, router);
        }
    }
    graph.grid = Some(Grid { width, height, wrap, full: false, concentration, toward });
    graph
}
