//! Bounded endpoints: each takes one flit a cycle, if the class of its packet has a place. A packet keeps its place until
//! [`Network::release`]; responses need none.

use super::Network;
use super::flit::Flit;
use super::vc_alloc::next_in_turn;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    /// Every endpoint with a flit that it may take takes one.
    pub(super) fn take_at_endpoints<S: Sink>(&mut self, sink: &mut S) {
        let mut from = 0;
        while let Some(node) = self.receiving.next(from) {
            if !self.take_at(node, sink) {
                self.receiving.remove(node);
            }
            from = node + 1;
        }
    }

    /// False where it has nothing that it may take: the next flit or the next release wakes it.
    #[inline(always)]
    fn take_at<S: Sink>(&mut self, node: usize, sink: &mut S) -> bool {
        let end = &mut self.endpoints[node];
        let takable = end.holding & (end.open | end.may);
        if takable == 0 {
            return false;
        }
        let v = next_in_turn(takable, end.last + 1);
        end.last = v as u32;
        let (flit, more) = self.take_from(node, v);
        let class = flit.network();
        let of_class = self.channels_of_class(class);
        let end = &mut self.endpoints[node];
        if flit.head() && (class as u32) < self.response_class {
            end.places[class] -= 1;
            if end.places[class] == 0 {
                end.may &= !of_class;
            }
        }
        end.open = end.open & !(1 << v) | u64::from(!flit.tail()) << v;
        end.holding &= !(u64::from(!more) << v);
        if flit.tail() {
            self.deliver(flit, sink);
        }
        true
    }

    /// Takes the front flit of virtual channel `v` before the endpoint of `node`. Gives it, and whether another one stands
    /// behind it.
    #[inline(always)]
    fn take_from(&mut self, node: usize, v: usize) -> (Flit, bool) {
        if self.is_lean {
            let (flit, m, more) = self.lean.ejected.take(node << 3 | v);
            self.lean.credit_from_endpoint(self.now, m);
            return (flit, more);
        }
        let vc = ((self.router_inputs as usize + node) << self.shift) + v;
        let flit = self.free_place(vc);
        let state = &mut self.vcs[vc];
        state.count -= 1;
        (flit, state.count > 0)
    }

    /// A place for one more packet of `class`; see [`Network::release`].
    pub(super) fn give_place(&mut self, node: usize, class: usize) {
        let of_class = self.channels_of_class(class);
        let Some(end) = self.endpoints.get_mut(node) else { return };
        let Some(places) = end.places.get_mut(class) else { return };
        *places += 1;
        end.may |= of_class;
        self.receiving.insert(node);
    }

    /// Whether the packet at the front of virtual channel `v` before the endpoint of `node` was begun.
    pub(super) fn begun(&self, node: usize, v: usize) -> bool {
        self.endpoints.get(node).is_some_and(|end| end.open >> v & 1 == 1)
    }
}
