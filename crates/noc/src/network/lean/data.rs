//! The state that the lean loop keeps.

use super::super::flit::Flit;
use super::super::table::Table;
use super::super::wheel::Wheel;
use super::ejected::Ejected;
use super::router::{Router, Source};

/// A flit on its way to an input or endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    /// The flit.
    pub(crate) flit: Flit,
    /// Input virtual channel, or output virtual channel with [`super::router::TO_ENDPOINT`].
    pub(crate) to: u32,
}

/// A flit and the input-buffer credit that its leaving frees, where both arrive in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Move {
    /// The flit.
    pub(crate) flit: Flit,
    /// As in [`Arrival`].
    pub(crate) to: u32,
    /// Output virtual channel whose credit comes back; with [`super::router::SOURCE`] a source and its virtual channel.
    pub(crate) credit: u32,
}

/// The state of a network of small routers.
#[derive(Clone, Debug)]
pub(crate) struct Lean<S> {
    pub(crate) routers: Table<Router<S>>,
    pub(crate) sources: Table<Source>,
    pub(crate) queues: Queues,
    pub(crate) wheels: Wheels,
    pub(crate) ejected: Ejected,
    pub(crate) uniformity: Uniformity,
}

/// How uniform a network is: what its code need not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformity {
    /// Uniform, and moreover: one class, no virtual-channel masks, endpoints that take every flit.
    Plain,
    /// One clock, the reference's latencies, links of length one, speculative, no packet followed, routers in order. A chip's
    /// mesh, with classes and bounded endpoints.
    Uniform,
    /// None of this holds.
    Any,
}

/// Delays of a uniform network, in cycles: a source's flit, a flit or credit between routers or to an endpoint, a
/// credit to a source.
pub(crate) const FROM_SOURCE: u64 = 2;
pub(crate) const ONE_HOP: u64 = 3;
pub(crate) const TO_SOURCE: u64 = 2;

/// Flits behind the front one: a ring for each input virtual channel.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    pub(crate) flits: Table<Flit>,
    pub(crate) depth_shift: u32,
    pub(crate) depth_mask: u8,
}

/// What is under way. A uniform network, whose delays are constant, keeps a wheel for each of its five; the others use the
/// first three.
#[derive(Clone, Debug)]
pub(crate) struct Wheels {
    /// From router to router or endpoint, with the credit to the router before.
    pub(crate) moves: Wheel<Move>,
    /// From a router, where the credit goes apart.
    pub(crate) arrivals: Wheel<Arrival>,
    /// Credits, as in [`Move::credit`]; in uniform networks those for sources.
    pub(crate) credits: Wheel<u32>,
    /// From a source.
    pub(crate) injected: Wheel<Arrival>,
    /// Credits from endpoints.
    pub(crate) returned: Wheel<u32>,
}

impl Wheels {
    /// The first cycle from `now` on in which something arrives.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        // All five have the same span.
        self.moves.span(now).find(|at| {
            let flits = self.moves.count(*at) | self.arrivals.count(*at) | self.injected.count(*at);
            flits | self.credits.count(*at) | self.returned.count(*at) != 0
        })
    }
}

impl<S> Lean<S> {
    /// An endpoint has taken a flit: output virtual channel `m` has a credit again.
    #[inline(always)]
    pub(crate) fn credit_from_endpoint(&mut self, now: u64, m: u32) {
        if self.uniformity == Uniformity::Any {
            let delay = self.routers[(m >> 6) as usize].return_delay[(m >> 3 & 7) as usize];
            self.wheels.credits.push(now + u64::from(delay), m);
        } else {
            self.wheels.returned.push(now + ONE_HOP, m);
        }
    }

    /// See [`super::super::whole::Network::flit_hops`].
    pub(crate) fn flit_hops(&self) -> u64 {
        self.routers.iter().flat_map(|n| &n.ports.0).map(|p| p.sent).sum()
    }
}
