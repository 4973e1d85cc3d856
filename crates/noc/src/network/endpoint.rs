//! Bounded endpoints: each takes one flit a cycle, if the class of its packet has a place. A packet keeps its place until
//! [`Network::release`]; of classes that are not bounded, responses above all, it needs none.

use super::Network;
use super::edge::channels_of;
use super::flit::Flit;
use super::state::{Endpoint, MAX_CLASSES};
use super::vc_alloc::next_in_turn;
use crate::arbiter::Arbiter;
use crate::config::Config;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    /// Every endpoint with a flit that it may take takes one. One that has taken none is looked at again when the next flit
    /// comes, or the next release.
    pub(super) fn take_at_endpoints<S: Sink>(&mut self, sink: &mut S) {
        if self.is_lean {
            return self.take_at_lean_endpoints(sink);
        }
        let mut from = 0;
        while let Some(node) = self.receiving.next(from) {
            match self.endpoints[node].choose() {
                None => self.receiving.remove(node),
                Some(v) => {
                    let vc = ((self.router_inputs as usize + node) << self.shift) + v;
                    let flit = self.free_place(vc);
                    let state = &mut self.vcs[vc];
                    state.count -= 1;
                    let more = state.count > 0;
                    self.endpoints[node].took(v, flit, more, self.vcs_a_class);
                    if flit.tail() {
                        self.deliver(flit, sink);
                    }
                }
            }
            from = node + 1;
        }
    }

    fn take_at_lean_endpoints<S: Sink>(&mut self, sink: &mut S) {
        let (now, a_class) = (self.now, self.vcs_a_class);
        let (lean, endpoints, slots) = (&mut self.lean, &mut self.endpoints, &mut self.slots);
        let journeys = &mut self.journeys;
        self.receiving.retain(|node| {
            let end = &mut endpoints[node];
            let Some(v) = end.choose() else { return false };
            let (flit, m, more) = lean.ejected.take(node << 3 | v);
            lean.credit_from_endpoint(now, m);
            end.took(v, flit, more, a_class);
            if flit.tail() {
                let delivered = slots.deliver(flit, now);
                if let Some(j) = journeys {
                    j.note_arrival(&delivered);
                }
                sink.delivered(&delivered);
            }
            true
        });
    }

    /// A place for one more packet of `class`; see [`Network::release`].
    pub(super) fn give_place(&mut self, node: usize, class: usize) {
        let (a_class, classes) = (self.vcs_a_class, self.classes as usize);
        let Some(end) = self.endpoints.get_mut(node).filter(|_| class < classes) else { return };
        end.places[class] += 1;
        end.may |= channels_of(class, a_class);
        self.receiving.insert(node);
        self.stirs();
    }

    /// Whether the packet at the front of virtual channel `v` before the endpoint of `node` was begun.
    pub(super) fn begun(&self, node: usize, v: usize) -> bool {
        self.endpoints.get(node).is_some_and(|end| end.open >> v & 1 == 1)
    }
}

impl Endpoint {
    /// The endpoints of a network in which some are bounded.
    pub(super) fn all_of(config: &Config, nodes: usize) -> Vec<Endpoint> {
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

    /// The virtual channel whose front flit it takes now, in turn.
    #[inline(always)]
    fn choose(&self) -> Option<usize> {
        let takable = self.holding & (self.open | self.may);
        (takable != 0).then(|| next_in_turn(takable, self.last + 1))
    }

    /// It has taken `flit` from virtual channel `v`, behind which there are `more` or not.
    #[inline(always)]
    fn took(&mut self, v: usize, flit: Flit, more: bool, a_class: u32) {
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
