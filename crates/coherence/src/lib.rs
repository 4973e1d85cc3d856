//! The cache coherence protocol: MOESI with a directory, as **one piece of data**.
//!
//! Two tables define it: what a core's private caches do ([`cache`]) and what a line's home does
//! ([`home`]). A row is `(state, event) -> next state, actions`. Three readers share the rows, and
//! the first two also the code that interprets them:
//!
//! - the simulated chip runs [`cache::step`], [`cache::deliver`], [`home::deliver`] and
//!   [`home::evict`] with its own [`cache::Effects`] and [`home::Effects`],
//! - the model checker runs the same functions in a small closed world ([`model`]),
//! - [`render`] prints them as the generated parts of `docs/reference/protocol.md`.
//!
//! [`mutate`] breaks rows one at a time, to show that the checker notices. The rows know no time,
//! no network and no cache geometry; these belong to the code that implements the effects.
//!
//! Names and structure follow D. Sorin, M. Hill, D. Wood, *A Primer on Memory Consistency and Cache
//! Coherence* (2011), chapter 8.

pub mod cache;
pub mod home;
mod message;
pub mod model;
pub mod mutate;
mod names;
mod policy;
pub mod render;
mod set;
mod table;

pub use message::{Agent, Class, Kind, Message};
pub use policy::{BLOCKING, NONBLOCKING, Policy, Protocol};
pub use set::{Bits, CoreSet};
pub use table::{Actions, MAX_ACTIONS, Row, Then, Unhandled};
