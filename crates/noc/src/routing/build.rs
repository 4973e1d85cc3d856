//! Builds the table of the routing that a configuration names.

use super::file::RouteFile;
use super::kind::RoutingKind;
use super::table::{Choice, NO_ROUTE, Routes};
use super::{adaptive, dimension_order, file, graph};
use crate::error::{NocError, bad};
use crate::topology::{Graph, TopologyConfig};

/// What [`Routes::new`] needs to know to build a routing.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The routing that is asked for.
    pub kind: RoutingKind,
    /// The routing table for `table`; without one, packets take shortest paths.
    pub file: Option<&'a RouteFile>,
    /// The topology from which the graph was built.
    pub topology: &'a TopologyConfig,
    /// Virtual channels per port, summed over all message classes.
    pub vcs: u32,
    /// Number of message classes.
    pub classes: u32,
}

impl Routes {
    /// Builds the routes that `request` describes on `graph`. Returns them with the kind of
    /// routing, where `auto` has been resolved. Fails if the routing does not fit the graph or the
    /// number of virtual channels.
    pub fn new(request: &Request<'_>, graph: &Graph) -> Result<(RoutingKind, Routes), NocError> {
        let kind = match (request.file, request.kind) {
            (Some(_), RoutingKind::Auto | RoutingKind::Table) => RoutingKind::Table,
            (Some(_), other) => return Err(bad("routing", other.name(), "`table` with a table of routes")),
            (None, kind) => kind.resolve(request.topology),
        };
        let nodes = graph.nodes.len();
        let mut routes = Routes {
            table: vec![NO_ROUTE; graph.routers as usize * nodes],
            nodes,
            routers: graph.routers as usize,
            choice: Choice::None,
            classes: 1,
            ports: vec![],
            masks: vec![],
            longest: 0,
        };
        match kind {
            RoutingKind::Auto | RoutingKind::Xy => dimension_order::fill(&mut routes, graph, false)?,
            RoutingKind::Yx => dimension_order::fill(&mut routes, graph, true)?,
            RoutingKind::O1turn => dimension_order::o1turn(&mut routes, graph)?,
            RoutingKind::Valiant => dimension_order::valiant(&mut routes, graph)?,
            RoutingKind::WestFirst => adaptive::west_first(&mut routes, graph)?,
            RoutingKind::MinimalAdaptive => adaptive::minimal(&mut routes, graph)?,
            RoutingKind::Table => match request.file {
                Some(file) => file::fill(&mut routes, graph, file)?,
                None => graph::shortest(&mut routes, graph),
            },
            RoutingKind::UpDown => graph::up_down(&mut routes, graph),
        }
        routes.longest = match (kind, &graph.grid) {
            (RoutingKind::Table | RoutingKind::UpDown, _) | (_, None) => routes.check_connected(graph)?,
            // Dimension-order routings reach every node of a grid. Checking each pair would take
            // longer than the rest of the construction on large grids, so only debug builds do it.
            (_, Some(grid)) => {
                debug_assert_eq!(routes.check_connected(graph), Ok(grid.longest_path()));
                // Valiant's two paths share the intermediate router.
                if kind == RoutingKind::Valiant { 2 * grid.longest_path() - 1 } else { grid.longest_path() }
            }
        };
        routes.share_channels(kind, request.vcs / request.classes, request.classes)?;
        Ok((kind, routes))
    }
}
