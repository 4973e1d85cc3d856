//! The state of bounded endpoints. Each takes one flit per cycle, if a place is free for the class
//! of the flit's packet. A packet keeps its place until [`super::Network::release`]. Packets of
//! classes that are not bounded, responses above all, need no place.

use super::flit::Flit;
use super::set::Set;
use super::spec::Spec;
use super::turns::{channels_of, next_in_turn};
use crate::config::Config;
use crate::rank::Rank;

/// The largest number of message classes of a configuration.
const MAX_CLASSES: usize = 8;

/// All endpoints of a network.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    /// The endpoints by node; empty if none is bounded.
    pub(crate) ends: Vec<Endpoint>,
    /// Endpoints with a flit that they may be able to take.
    pub(crate) receiving: Set,
}

impl Endpoints {
    pub(crate) fn new<A>(spec: &Spec<A>) -> Endpoints {
        let nodes = spec.nodes as usize;
        let ends = if spec.bounded { Endpoint::all_of(&spec.config, nodes) } else { vec![] };
        Endpoints { ends, receiving: Set::new(nodes) }
    }

    /// Whether the endpoint of `node` has taken part of the packet at the front of virtual channel
    /// `v` already.
    pub(crate) fn begun(&self, node: usize, v: usize) -> bool {
        self.ends.get(node).is_some_and(|end| end.open >> v & 1 == 1)
    }
}

/// One bounded endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Bit set of the virtual channels of its ejection channel that hold flits.
    pub(crate) holding: u64,
    /// Bit set of the virtual channels with a partly taken packet, which is taken to its end.
    pub(crate) open: u64,
    /// Bit set of the virtual channels of classes that have a free place or need none.
    pub(crate) may: u64,
    /// Virtual channel from which the last flit was taken.
    pub(crate) last: u32,
    /// Bit set of the classes that have a bounded number of places.
    pub(crate) bounded: u8,
    /// Free places by class.
    pub(crate) places: [u32; MAX_CLASSES],
}

impl Endpoint {
    /// Creates the endpoints of a network in which at least some are bounded.
    fn all_of(config: &Config, nodes: usize) -> Vec<Endpoint> {
        let requests = (1u32 << config.response_class.min(MAX_CLASSES as u32)) - 1;
        let bounded = if config.endpoint_places > 0 { requests as u8 } else { 0 };
        let places = [config.endpoint_places; MAX_CLASSES];
        let mut all = vec![Endpoint { holding: 0, open: 0, may: u64::MAX, last: 0, bounded, places }; nodes];
        for own in &config.places {
            for node in &own.nodes {
                let end = &mut all[*node as usize];
                end.bounded |= 1 << own.class;
                end.places[own.class as usize] = own.places;
            }
        }
        all
    }

    /// Returns the virtual channel whose front flit the endpoint takes now, in round-robin order.
    #[inline(always)]
    pub(crate) fn choose(&self) -> Option<usize> {
        let takable = self.holding & (self.open | self.may);
        (takable != 0).then(|| next_in_turn(takable, self.last + 1))
    }

    /// Like [`Endpoint::choose`], but by rank, where `rank` returns the rank of the packet at the
    /// front of a virtual channel. The smallest rank goes first; packets of equal rank, and those
    /// without a rank, go in round-robin order. Unless `ranked_first`, a packet without a rank
    /// keeps its turn, and ranked packets only trade turns among themselves.
    #[inline(never)]
    pub(crate) fn choose_by_rank(&self, ranked_first: bool, rank: impl Fn(usize) -> Rank) -> Option<usize> {
        let in_turn = self.choose()?;
        if !ranked_first && !rank(in_turn).is_some() {
            return Some(in_turn);
        }
        let mut rest = self.holding & (self.open | self.may);
        let mut best = in_turn;
        while rest != 0 {
            let v = next_in_turn(rest, in_turn as u32);
            rest &= !(1 << v);
            if rank(v).get().is_some_and(|one| rank(best).get().is_none_or(|other| one < other)) {
                best = v;
            }
        }
        Some(best)
    }

    /// Records that the endpoint has taken `flit` from virtual channel `v`. `more` says whether
    /// further flits stand there, `a_class` is the number of virtual channels per class.
    #[inline(always)]
    pub(crate) fn took(&mut self, v: usize, flit: Flit, more: bool, a_class: u32) {
        let class = flit.network();
        if flit.head() && self.bounded >> class & 1 == 1 {
            self.places[class] -= 1;
            if self.places[class] == 0 {
                self.may &= !channels_of(class, a_class);
            }
        }
        self.last = v as u32;
        self.open = self.open & !(1 << v) | u64::from(!flit.tail()) << v;
        self.holding &= !(u64::from(!more) << v);
    }
}
