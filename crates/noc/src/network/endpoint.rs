//! Bounded endpoints: each takes one flit a cycle, if the class of its packet has a place. A packet keeps its place until
//! [`Network::release`]; responses need none.

use super::Network;
use super::flit::Flit;
use super::state::NONE;
use super::vc_alloc::next_in_turn;
use crate::allocator::bits;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    /// Every endpoint with a flit that it may take takes one.
    pub(super) fn take_at_endpoints<S: Sink>(&mut self, sink: &mut S) {
        if self.receiving.is_empty() {
            return;
        }
        let mut from = 0;
        while let Some(node) = self.receiving.next(from) {
            if !self.take_at(node, sink) {
                self.receiving.remove(node);
            }
            from = node + 1;
        }
    }

    /// False where it has nothing that it may take: the next flit or the next release wakes it.
    fn take_at<S: Sink>(&mut self, node: usize, sink: &mut S) -> bool {
        let end = &self.endpoints[node];
        let may_take = |v: &usize| {
            let (flit, open) = self.before_endpoint(node, *v);
            let class = flit.network();
            open || class as u32 >= self.response_class || end.places[class] > 0
        };
        let takable = bits(end.holding).filter(may_take).fold(0u64, |set, v| set | 1 << v);
        if takable == 0 {
            return false;
        }
        let v = next_in_turn(takable, end.last + 1);
        let (flit, _) = self.before_endpoint(node, v);
        let class = flit.network();
        let end = &mut self.endpoints[node];
        end.last = v as u32;
        if flit.head() && (class as u32) < self.response_class {
            end.places[class] -= 1;
        }
        if !self.take_from(node, v, flit, sink) {
            self.endpoints[node].holding &= !(1 << v);
        }
        true
    }

    /// The first flit of virtual channel `v` before the endpoint of `node`, and whether its packet was begun.
    fn before_endpoint(&self, node: usize, v: usize) -> (Flit, bool) {
        if self.is_lean {
            let n = node << 3 | v;
            return (self.lean.ejected.flit(n, 0), self.lean.ejected.open(n));
        }
        let vc = ((self.router_inputs as usize + node) << self.shift) + v;
        // `given` marks a packet that was begun.
        (self.front(vc), self.vcs[vc].given != NONE)
    }

    /// Takes that flit. True if another one stands behind it.
    fn take_from<S: Sink>(&mut self, node: usize, v: usize, flit: Flit, sink: &mut S) -> bool {
        let channel = self.router_inputs as usize + node;
        if self.is_lean {
            let (m, more) = self.lean.ejected.take(node << 3 | v);
            let delay = u64::from(self.channels[channel].credit_delay);
            self.lean.wheels.credits.push(self.now + delay, m);
            if flit.tail() {
                self.deliver(flit, sink);
            }
            return more;
        }
        let vc = (channel << self.shift) + v;
        let state = &mut self.vcs[vc];
        state.given = if flit.tail() { NONE } else { 0 };
        state.count -= 1;
        let more = state.count > 0;
        self.take_flit(vc, sink);
        more
    }
}
