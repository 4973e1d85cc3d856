//! A small closed world in which the protocol is checked exhaustively: a few cores, one or two lines, a network that loses
//! nothing and may deliver in any order.
//!
//! The world runs [`crate::cache::step`], [`crate::cache::deliver`], [`crate::home::deliver`] and [`crate::home::evict`],
//! as the simulated chip does; here are only the effects (what a message, a read, a write does to the world) and what must
//! always hold. It knows no checker: `tests/common` hands it to stateright.
//!
//! A line's data is one bit a copy: whether it is the newest version. A write makes every other copy old, in caches, at
//! the home and in messages. So the data value is checked for any number of writes with a finite number of states.
//!
//! | file | holds |
//! | --- | --- |
//! | `config.rs` | how large the world is and what its cores do |
//! | `world.rs` | the state: copies, homes, messages under way, requests that wait |
//! | `network.rs` | packets in their canonical order; which may be delivered next |
//! | `effects.rs` | what the protocol's actions do to the world |
//! | `moves.rs` | every move that is possible, and the world after it |
//! | `faults.rs` | what must always hold |
//! | `symmetry.rs` | cores and lines renamed, so that equal worlds are one |
//! | `coverage.rs` | which rows were exercised |
//! | `chart.rs` | runs drawn as message sequence charts |

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
