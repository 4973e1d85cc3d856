//! The fast loop for small routers: at most eight ports of at most eight virtual channels, private
//! buffers of at most 255 flits, virtual channels allocated in one cycle, the switch allocated
//! input first, and the output found by table. Meshes, tori, rings and small flattened butterflies
//! are of this kind unless their configuration says otherwise. All other networks go through the
//! general loop of the parent folder. A test shows that both loops give the same bytes.
//!
//! Three things make it fast. All of a router lies in one [`router::Router`], so that one address
//! serves every field, and its inputs fill one word, so that bids are bit masks. The front flit of
//! a virtual channel lies apart from its queue, which is mostly empty. The numbers that travel
//! through the timing wheels are already those of the receiving end.
//!
//! Input virtual channel `v` of port `p` of router `r` has the number `r << 6 | p << 3 | v`; output
//! virtual channels are numbered in the same way. The code is compiled for three kinds of network
//! ([`data::Uniformity`]), and each version leaves out the branches that its kind never takes.
//!
//! | file | holds |
//! | --- | --- |
//! | `data.rs` | the state |
//! | `router.rs` | one router's state |
//! | `build.rs` | makes routers from the wiring |
//! | `context.rs` | what a router's cycle reads |
//! | `step.rs` | a cycle |
//! | `arrive.rs` | handles events of the timing wheels |
//! | `allocate.rs` | one router's cycle; bids without rivals |
//! | `rivals.rs` | bids with rivals |
//! | `ranks.rs` | packets whose rank outweighs the rule "non-speculative before speculative" |
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
