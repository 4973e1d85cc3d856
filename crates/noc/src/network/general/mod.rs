//! The general loop: a cycle for every configuration. Arrays lie by virtual channel, by channel and by router; who waits and
//! what is free are bit masks.
//!
//! | file | holds |
//! | --- | --- |
//! | `data.rs` | the state |
//! | `cycle.rs` | what a cycle reads and writes |
//! | `arrive.rs` | what the timing wheels bring |
//! | `input.rs` | the front of a virtual channel's buffer |
//! | `router.rs` | one router's cycle |
//! | `vc_alloc.rs`, `switch.rs` | the two allocations |
//! | `matching.rs` | switch allocation by the other allocators |
//! | `send.rs` | a flit leaves a router, and uses a credit |
//! | `source.rs` | a flit leaves a source |
//! | `eject.rs` | endpoints take flits |

mod arrive;
pub(crate) mod cycle;
pub(crate) mod data;
mod eject;
mod input;
mod matching;
mod router;
mod send;
mod source;
mod switch;
mod vc_alloc;
