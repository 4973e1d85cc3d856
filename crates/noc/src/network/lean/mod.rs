//! The inner loop of small routers: at most eight ports of at most eight virtual channels, the switch allocated input
//! first, the output found by table. That is every mesh, torus, ring and small flattened butterfly with the usual
//! buffers. Everything else goes through the general loop of the parent folder; a test holds that both give the same
//! bytes.
//!
//! What makes it fast: all of a router lies in one [`router::Router`], so that one address serves every field; inputs fill one
//! word, so that bids are bit masks; the front flit of a virtual channel lies apart from its queue, which is mostly
//! empty; the numbers that travel through the timing wheels are already those of the other end.
//!
//! Numbers: input virtual channel `v` of port `p` of router `r` is `r << 6 | p << 3 | v`; output virtual channels have
//! the same form. Code is compiled for three kinds of network ([`data::Uniformity`]), and branches on none of what its kind rules out.
//!
//! | file | holds |
//! | --- | --- |
//! | `data.rs` | the state |
//! | `router.rs` | one router's state |
//! | `build.rs` | wiring → routers |
//! | `context.rs` | what a router's cycle reads |
//! | `step.rs` | a cycle |
//! | `arrive.rs` | what the timing wheels bring |
//! | `allocate.rs` | one router's cycle; bids without rivals |
//! | `rivals.rs` | bids with rivals |
//! | `ranks.rs` | packets that outrank the order "non-speculative before speculative" |
//! | `ejected.rs`, `eject.rs` | flits before bounded endpoints; endpoints take them |
//! | `send.rs` | a flit leaves a router |
//! | `source.rs` | a flit leaves a source |

mod allocate;
mod arrive;
pub(crate) mod build;
mod context;
pub(crate) mod data;
mod eject;
mod ejected;
mod ranks;
mod rivals;
pub(crate) mod router;
mod send;
mod source;
mod step;
