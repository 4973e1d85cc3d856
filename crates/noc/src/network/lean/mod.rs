//! The inner loop of small routers: at most eight ports of at most eight virtual channels, the switch allocated input
//! first, the output found by table. That is every mesh, torus, ring and small flattened butterfly with the usual
//! buffers. Everything else goes through the general loop of the parent folder; a test holds that both give the same
//! bytes.
//!
//! What makes it fast: all of a router lies in one [`Node`], so that one address serves every field; inputs fill one
//! word, so that bids are bit masks; the front flit of a virtual channel lies apart from its queue, which is mostly
//! empty; the numbers that travel through the timing wheels are already those of the other end.
//!
//! Numbers: input virtual channel `v` of port `p` of router `r` is `r << 6 | p << 3 | v`; output virtual channels have
//! the same form. Code is compiled for three [`Kind`]s of network, and branches on none of what its kind rules out.
//!
//! | file | holds |
//! | --- | --- |
//! | `node.rs` | one router's state |
//! | `build.rs` | wiring → nodes |
//! | `arrive.rs` | what the timing wheels bring |
//! | `allocate.rs` | one router's cycle; bids without rivals |
//! | `rivals.rs` | bids with rivals |
//! | `ranks.rs` | packets that outrank the order "non-speculative before speculative" |
//! | `ejected.rs` | flits before bounded endpoints |
//! | `send.rs` | a flit leaves a router |
//! | `source.rs` | a flit leaves a source |

mod allocate;
mod arrive;
mod build;
mod ejected;
mod node;
mod ranks;
mod rivals;
mod send;
mod source;

pub(super) use build::{Wiring, fits};
pub(super) use node::{Node, SOURCE, Source, TO_ENDPOINT};

use super::Network;
use super::flit::Flit;
use super::state::Slots;
use super::table::{Reading, Table};
use super::wheel::Wheel;
use crate::arbiter::{Arbiter, Contender};
use crate::packet::Sink;
use crate::rng::mix;
use crate::topology::Graph;
use ejected::Ejected;

/// A flit on its way to an input or endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// The flit.
    pub(super) flit: Flit,
    /// Input virtual channel, or output virtual channel with [`TO_ENDPOINT`].
    pub(super) to: u32,
}

/// A flit and the credit of the place that it left, where both arrive in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Move {
    /// The flit.
    pub(super) flit: Flit,
    /// As in [`Arrival`].
    pub(super) to: u32,
    /// Output virtual channel whose credit comes back; with [`SOURCE`] a source and its virtual channel.
    pub(super) credit: u32,
}

/// The state of a network of small routers.
#[derive(Clone, Debug)]
pub(super) struct Lean<S> {
    pub(super) nodes: Table<Node<S>>,
    pub(super) sources: Table<Source>,
    pub(super) queues: Queues,
    pub(super) wheels: Wheels,
    pub(super) ejected: Ejected,
    pub(super) kind: Kind,
}

/// What holds for a network and its code need not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Uniform, and moreover: one class, no virtual-channel masks, endpoints that take every flit.
    Plain,
    /// One clock, the reference's latencies, links of length one, speculative, nobody followed, routers in order. A chip's
    /// mesh, with classes and bounded endpoints.
    Uniform,
    /// Nothing.
    Any,
}

/// Delays of a uniform network, in cycles: a source's flit, a flit or credit between routers or to an endpoint, a
/// credit to a source.
const FROM_SOURCE: u64 = 2;
const ONE_HOP: u64 = 3;
const TO_SOURCE: u64 = 2;

/// Flits behind the front one: a ring for each input virtual channel.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    pub(super) flits: Table<Flit>,
    pub(super) depth_shift: u32,
    pub(super) depth_mask: u8,
}

/// What is under way. A uniform network, whose delays are constant, keeps a wheel for each of its five; the others use the
/// first three.
#[derive(Clone, Debug)]
pub(super) struct Wheels {
    /// From router to router or endpoint, with the credit to the router before.
    pub(super) moves: Wheel<Move>,
    /// From a router, where the credit goes apart.
    pub(super) arrivals: Wheel<Arrival>,
    /// Credits, as in [`Move::credit`]; in uniform networks those for sources.
    pub(super) credits: Wheel<u32>,
    /// From a source.
    pub(super) injected: Wheel<Arrival>,
    /// Credits from endpoints.
    pub(super) returned: Wheel<u32>,
}

impl Wheels {
    /// The first cycle from `now` on in which something arrives.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        // All five have the same span.
        self.moves.span(now).find(|at| {
            let flits = self.moves.count(*at) | self.arrivals.count(*at) | self.injected.count(*at);
            flits | self.credits.count(*at) | self.returned.count(*at) != 0
        })
    }
}

impl<S> Lean<S> {
    /// An endpoint has taken a flit: output virtual channel `m` has a place again.
    #[inline(always)]
    pub(super) fn credit_from_endpoint(&mut self, now: u64, m: u32) {
        if self.kind == Kind::Any {
            let delay = self.nodes[(m >> 6) as usize].return_delay[(m >> 3 & 7) as usize];
            self.wheels.credits.push(now + u64::from(delay), m);
        } else {
            self.wheels.returned.push(now + ONE_HOP, m);
        }
    }

    /// See [`Network::flit_hops`].
    pub(super) fn flit_hops(&self) -> u64 {
        self.nodes.iter().flat_map(|n| &n.ports.0).map(|p| p.sent).sum()
    }
}

/// How a head flit finds its output.
struct Way<'a> {
    route: Reading<'a, u16>,
    masks: Reading<'a, u64>,
    lanes: usize,
    table_two: usize,
    /// Packets turn at an intermediate node (Valiant).
    turns: bool,
    graph: &'a Graph,
}

/// What a router's cycle reads beside its own state.
struct Context<'a, A: Arbiter> {
    way: Way<'a>,
    arbiter: &'a A,
    slots: &'a Slots,
    queues: &'a Queues,
    now: u64,
    seed: u64,
    speculative: bool,
}

impl<A: Arbiter> Context<'_, A> {
    /// What the arbiter may know of the packet at the front of input `i` of router `r`.
    #[inline]
    fn contender(&self, node: &Node<A::State>, r: usize, i: usize) -> Contender {
        let slot = self.slots.get(node.lanes[i].front.slot());
        let draw = mix(self.seed ^ mix(self.now).wrapping_add(((r << 6 | i) as u64) << 20));
        Contender { header: slot.header, created: slot.created, id: slot.id, draw }
    }
}

impl<A: Arbiter> Network<A> {
    /// A cycle's first three parts.
    #[inline]
    pub(super) fn advance_lean<S: Sink>(&mut self, sink: &mut S) {
        match self.lean.kind {
            Kind::Plain => {
                self.arrive_lean::<true, true, S>(sink);
                if !self.sending.is_empty() {
                    self.send_from_plain_sources();
                }
                if !self.active.is_empty() {
                    self.step_uniform_nodes::<true>();
                }
            }
            Kind::Uniform => {
                self.arrive_lean::<true, false, S>(sink);
                if !self.sending.is_empty() {
                    self.send_from_lean_sources::<true>();
                }
                if !self.active.is_empty() {
                    self.step_uniform_nodes::<false>();
                }
            }
            Kind::Any => {
                self.arrive_lean::<false, false, S>(sink);
                self.send_from_lean_sources::<false>();
                self.step_other_nodes();
            }
        }
    }
}
