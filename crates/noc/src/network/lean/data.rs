//! The state of the lean loop.

use super::super::flit::Flit;
use super::super::table::Table;
use super::super::wheel::Wheel;
use super::ejected::Ejected;
use super::router::{Router, Source};

/// A flit that travels to an input or an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) flit: Flit,
    /// Input virtual channel in which the flit arrives. With the flag
    /// [`super::router::TO_ENDPOINT`], the output virtual channel through which it reaches an
    /// endpoint.
    pub(crate) to: u32,
}

/// A flit, and the input-buffer credit that its leaving frees, if both arrive in the same cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Move {
    pub(crate) flit: Flit,
    /// Where the flit arrives, as in [`Arrival::to`].
    pub(crate) to: u32,
    /// Output virtual channel that the credit comes back to. With the flag
    /// [`super::router::SOURCE`], a source and its virtual channel.
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

/// How uniform a network is, which decides what its code need not look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformity {
    /// A uniform network that also has one class, no virtual-channel masks, and endpoints that take
    /// every flit.
    Plain,
    /// A network with one clock, the reference's latencies, links of length one, and speculation,
    /// in which no packet is followed and routers are stepped in ascending order. A chip's mesh with classes
    /// and bounded endpoints is one.
    Uniform,
    /// A network without these properties.
    Any,
}

/// Delays of a uniform network, in cycles: `FROM_SOURCE` for a flit from a source, `ONE_HOP` for a
/// flit or credit between routers or between router and endpoint, `TO_SOURCE` for a credit to a
/// source.
pub(crate) const FROM_SOURCE: u64 = 2;
pub(crate) const ONE_HOP: u64 = 3;
pub(crate) const TO_SOURCE: u64 = 2;

/// The flits behind the front one, in a ring buffer for each input virtual channel.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    pub(crate) flits: Table<Flit>,
    pub(crate) depth_shift: u32,
    pub(crate) depth_mask: u8,
}

/// Flits and credits that travel. A uniform network uses all five wheels, so that all events of a
/// wheel have the same delay. Other networks use the first three.
#[derive(Clone, Debug)]
pub(crate) struct Wheels {
    /// Flits from a router to a router or endpoint, each with the credit that it frees, if both
    /// arrive in the same cycle.
    pub(crate) moves: Wheel<Move>,
    /// Flits from a router whose credit arrives in another cycle. In networks that are not uniform,
    /// also flits from sources.
    pub(crate) arrivals: Wheel<Arrival>,
    /// Credits, as in [`Move::credit`]. In uniform networks, only the credits of sources.
    pub(crate) credits: Wheel<u32>,
    /// Flits from a source.
    pub(crate) injected: Wheel<Arrival>,
    /// Credits that endpoints return.
    pub(crate) returned: Wheel<u32>,
}

impl Wheels {
    /// Returns the first cycle from `now` on in which something arrives.
    pub(crate) fn next(&self, now: u64) -> Option<u64> {
        // All five wheels span the same number of cycles.
        self.moves.span(now).find(|at| {
            let flits = self.moves.count(*at) | self.arrivals.count(*at) | self.injected.count(*at);
            flits | self.credits.count(*at) | self.returned.count(*at) != 0
        })
    }
}

impl<S> Lean<S> {
    /// Sends back the credit of output virtual channel `m`, because an endpoint has taken a flit of
    /// it.
    #[inline(always)]
    pub(crate) fn credit_from_endpoint(&mut self, now: u64, m: u32) {
        if self.uniformity == Uniformity::Any {
            let delay = self.routers[(m >> 6) as usize].return_delay[(m >> 3 & 7) as usize];
            self.wheels.credits.push(now + u64::from(delay), m);
        } else {
            self.wheels.returned.push(now + ONE_HOP, m);
        }
    }

    /// Number of flit-hops; see [`super::super::whole::Network::flit_hops`].
    pub(crate) fn flit_hops(&self) -> u64 {
        self.routers.iter().flat_map(|n| &n.ports.0).map(|p| p.sent).sum()
    }
}
