//! Routing: how a packet chooses its route, and the proof that no ring of packets can wait for
//! itself.
//!
//! Before the first cycle, every routing becomes a table ([`Routes`]), which holds an output port
//! and a class of virtual channels for each router and destination node. A routing that leaves a
//! choice stores it beside the table: two tables (O1TURN), an intermediate node (Valiant), or a set
//! of ports (west-first, minimal adaptive). To add a routing, add a file that fills [`Routes`] and
//! a line in [`RoutingKind`]; `dependency.rs` then proves it free of deadlock or rejects it.

mod adaptive;
mod build;
mod dependency;
mod dimension_order;
mod file;
mod graph;
mod kind;
mod table;

pub use build::Request;
pub use dependency::dependency_cycle;
pub use file::{Rest, Route, RouteFile};
pub use kind::{ROUTINGS, RoutingKind};
pub(crate) use table::Choice;
pub use table::Routes;
