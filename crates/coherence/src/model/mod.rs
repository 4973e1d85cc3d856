//! A small closed world in which the protocol is checked exhaustively: a few cores, one or two
//! lines, and a network that loses nothing and may deliver in any order.
//!
//! The world runs [`crate::cache::step`], [`crate::cache::deliver`], [`crate::home::deliver`] and
//! [`crate::home::evict`], like the simulated chip. This module adds only the effects (what a
//! message, a read or a write does to the world) and the properties that must always hold. It does
//! not depend on a checker: `tests/common` passes it to stateright.
//!
//! The data of each copy of a line is one bit: whether it is the newest version. A write makes
//! every other copy old, in caches, at the home and in messages. So the check covers data values
//! for any number of writes with a finite number of states.
//!
//! | file | holds |
//! | --- | --- |
//! | `config.rs` | the size of the world, and what its cores do |
//! | `world.rs` | the state: copies, homes, messages under way, waiting requests |
//! | `network.rs` | packets in their canonical order, and which may be delivered next |
//! | `effects.rs` | what the protocol's actions do to the world |
//! | `moves.rs` | every possible move, and the world after it |
//! | `faults.rs` | the properties that must always hold |
//! | `symmetry.rs` | renames cores and lines, so that equal worlds are one |
//! | `coverage.rs` | records which rows were exercised |
//! | `chart.rs` | draws runs as message sequence charts |

pub mod chart;
mod config;
mod coverage;
mod effects;
mod faults;
mod moves;
mod network;
mod symmetry;
mod world;

pub use config::{Config, Operations, Order};
pub use coverage::Coverage;
pub use faults::Fault;
pub use moves::{Model, Move};
pub use network::Packet;
pub use world::{Age, Copy, Few, MAX_CORES, MAX_LINES, World};
