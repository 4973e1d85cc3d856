//! Routing: how a packet chooses its way, and the proof that no ring of packets can wait for itself.
//!
//! Every routing becomes a table before the first cycle ([`Routes`]): for each router and destination node an output
//! port and a class of virtual channels. A routing that has a choice keeps that choice beside the table: two tables
//! (O1TURN), an intermediate node (Valiant), or a set of ports (west-first, minimal adaptive). A new routing is a new
//! file that fills [`Routes`] and a line in [`RoutingKind`]; `dependency.rs` then shows it deadlock-free or refuses it.

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
