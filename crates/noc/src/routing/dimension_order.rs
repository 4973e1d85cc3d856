//! Dimension-order routing on grids, and the two routings that are built from it: O1TURN and
//! Valiant.
//!
//! On a torus, a packet that has still to cross the wrap-around link of its ring travels in class
//! 0, and one that will no longer cross it in class 1. So neither class closes the ring (a
//! dateline; Dally and Seitz 1987).

use super::table::{Choice, Entry, Routes, entry};
use crate::error::{NocError, bad};
use crate::topology::{Graph, Grid};

/// Returns the graph's grid, or an error that names the routing.
pub(super) fn grid<'a>(graph: &'a Graph, routing: &str) -> Result<&'a Grid, NocError> {
    graph.grid.as_ref().ok_or_else(|| bad("routing", routing, "a topology that is a grid, or `table`, or `up-down`"))
}

/// Chooses one hop along a ring or line of `side` routers. Returns whether it leads upward, and the
/// dateline class.
fn step(at: u32, to: u32, side: u32, wrap: bool) -> (bool, u32) {
    if !wrap {
        return (to > at, 0);
    }
    let up = (to + side - at) % side <= side / 2;
    // Class 1 is used once the rest of the path no longer crosses the end of the ring.
    (up, u32::from(if up { to > at } else { to < at }))
}

/// Returns the output port and the dateline class of the next hop from `router` toward the router
/// `target`; `None` if the packet is there.
fn hop(g: &Grid, router: u32, target: u32, y_first: bool) -> Option<(u32, u32)> {
    let (x, y) = (router % g.width, router / g.width);
    let (tx, ty) = (target % g.width, target / g.width);
    let along_x = if y_first { y == ty } else { x != tx };
    if router == target {
        return None;
    }
    Some(match (g.full, along_x) {
        (true, true) => (if tx < x { tx } else { tx - 1 }, 0),
        (true, false) => (g.width - 1 + if ty < y { ty } else { ty - 1 }, 0),
        (false, true) => {
            let (up, class) = step(x, tx, g.width, g.wrap);
            (g.toward[router as usize][usize::from(!up)], class)
        }
        (false, false) => {
            let (up, class) = step(y, ty, g.height, g.wrap);
            (g.toward[router as usize][2 + usize::from(!up)], class)
        }
    })
}

/// Builds one routing table, in which `class` is added to the class of every hop.
fn table(graph: &Graph, g: &Grid, y_first: bool, class: u32) -> Vec<Entry> {
    let mut table = Vec::with_capacity(graph.routers as usize * graph.nodes.len());
    for router in 0..graph.routers {
        for node in &graph.nodes {
            let (port, dateline) = hop(g, router, node.to_router, y_first).unwrap_or((node.out_port, 0));
            table.push(entry(port, class + dateline));
        }
    }
    table
}

fn datelines(g: &Grid) -> u32 {
    if g.wrap { 2 } else { 1 }
}

pub(super) fn fill(routes: &mut Routes, graph: &Graph, y_first: bool) -> Result<(), NocError> {
    let g = grid(graph, if y_first { "yx" } else { "xy" })?;
    routes.classes = datelines(g) as usize;
    routes.table = table(graph, g, y_first, 0);
    Ok(())
}

pub(super) fn o1turn(routes: &mut Routes, graph: &Graph) -> Result<(), NocError> {
    let g = grid(graph, "o1turn")?;
    let d = datelines(g);
    routes.classes = 2 * d as usize;
    routes.choice = Choice::Table;
    routes.table = table(graph, g, false, 0);
    routes.table.extend(table(graph, g, true, d));
    Ok(())
}

/// Builds Valiant's tables. Phase 0, to the intermediate node, uses the lower classes, and phase 1,
/// from there on, the upper ones. The second table is the first with its classes moved up, so that
/// a packet's phase selects its table, as in O1TURN.
pub(super) fn valiant(routes: &mut Routes, graph: &Graph) -> Result<(), NocError> {
    let g = grid(graph, "valiant")?;
    let d = datelines(g);
    routes.classes = 2 * d as usize;
    routes.choice = Choice::Intermediate;
    routes.table = table(graph, g, false, 0);
    routes.table.extend(table(graph, g, false, d));
    Ok(())
}
