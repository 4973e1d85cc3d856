//! The network: routers, channels, sources and endpoints, stepped one cycle at a time.
//!
//! A cycle has four parts: flits and credits that are due arrive; sources send; routers that have
//! something to do allocate and send; bounded endpoints take flits. A router reads only what was
//! there before the cycle, and writes only its own state and the upstream half of its output
//! channels. So routers may be stepped in any order.
//!
//! A [`Network`] has three parts: what is configured (`spec.rs`), how it is wired (`wiring.rs`), and its state
//! (`whole.rs`), which is plain data.
//!
//! | file | holds |
//! | --- | --- |
//! | `build.rs` | builds a network from a configuration |
//! | `step.rs` | the interface: inject packets, simulate cycles |
//! | `view.rs`, `inspect.rs` | the state for reports and checks, whichever loop keeps it |
//! | `check.rs` | conservation, in debug builds |
//! | `general/` | a cycle, for every configuration |
//! | `lean/` | the same cycle for small routers, much faster |
//! | `whole.rs` | the network's parts |
//! | `spec.rs`, `wiring.rs` | what is configured, and how it is wired |
//! | `slots.rs`, `sources.rs`, `endpoint.rs`, `journey.rs` | state that both loops keep: packets, sources, endpoints, followed packets |
//! | `flit.rs`, `table.rs`, `set.rs`, `turns.rs`, `wheel.rs` | a flit; arrays, sets, round-robin turns and timing wheels |

mod build;
mod check;
mod endpoint;
mod flit;
mod general;
mod inspect;
mod journey;
mod lean;
mod set;
mod slots;
mod sources;
mod spec;
mod step;
mod table;
mod turns;
mod view;
mod wheel;
mod whole;
mod wiring;

pub use build::Loops;
pub use inspect::{ChannelView, Stuck};
pub use journey::{Journey, JourneyStep};
pub use whole::Network;
