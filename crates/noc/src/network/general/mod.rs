//! The general loop, which supports every configuration. Arrays are indexed by virtual channel,
//! channel and router; bit masks say what waits and what is free.
//!
//! | file | holds |
//! | --- | --- |
//! | `data.rs` | the state |
//! | `cycle.rs` | what a cycle reads and writes |
//! | `arrive.rs` | events from the timing wheels |
//! | `input.rs` | the front of a virtual channel's buffer |
//! | `router.rs` | one router's cycle |
//! | `vc_alloc.rs`, `switch.rs` | virtual-channel and switch allocation |
//! | `matching.rs` | switch allocation by the other allocators |
//! | `send.rs` | a flit leaves a router and uses a credit |
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
