//! Routings that choose an output port in each router: the west-first turn model, and minimal
//! adaptive routing with an escape channel.
//!
//! The router itself makes the choice, among the ports given here, by the number of free virtual
//! channels.

use super::dimension_order;
use super::table::{Choice, Routes, entry};
use crate::error::{NocError, bad};
use crate::topology::{Graph, Grid};

fn mesh<'a>(graph: &'a Graph, routing: &str) -> Result<&'a Grid, NocError> {
    let g = dimension_order::grid(graph, routing)?;
    if g.wrap || g.full { Err(bad("routing", routing, "a mesh or a concentrated mesh")) } else { Ok(g) }
}

/// Fills `ports` with all minimal ports. With `west_first`, a packet that must go west gets only
/// the west port.
fn ports(routes: &mut Routes, graph: &Graph, g: &Grid, west_first: bool) {
    routes.ports = Vec::with_capacity(routes.routers * routes.nodes);
    for router in 0..graph.routers {
        let (x, y) = (router % g.width, router / g.width);
        let toward = g.toward[router as usize];
        for node in &graph.nodes {
            let (tx, ty) = (node.to_router % g.width, node.to_router / g.width);
            let mut set = 0u64;
            for (wanted, direction) in [(tx > x, 0), (tx < x, 1), (ty > y, 2), (ty < y, 3)] {
                if wanted && !(west_first && tx < x && direction > 1) {
                    set |= 1 << toward[direction];
                }
            }
            routes.ports.push(if set == 0 { 1 << node.out_port } else { set });
        }
    }
}

pub(super) fn west_first(routes: &mut Routes, graph: &Graph) -> Result<(), NocError> {
    let g = mesh(graph, "west-first")?;
    dimension_order::fill(routes, graph, false)?;
    routes.choice = Choice::Port { escape: false };
    ports(routes, graph, g, true);
    Ok(())
}

pub(super) fn minimal(routes: &mut Routes, graph: &Graph) -> Result<(), NocError> {
    let g = mesh(graph, "minimal-adaptive")?;
    dimension_order::fill(routes, graph, false)?;
    routes.choice = Choice::Port { escape: true };
    routes.classes = 2;
    // Ejection cannot be part of a ring, so a packet that leaves the network may use the adaptive
    // channels too, by way of the port set below.
    for e in &mut routes.table {
        *e = entry(u32::from(*e & 0xff), 0);
    }
    ports(routes, graph, g, false);
    Ok(())
}
