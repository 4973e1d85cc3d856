//! Flits leave the network at endpoints.

use super::super::flit::Flit;
use super::cycle::Cycle;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Cycle<'_, A> {
    /// Lets every endpoint take one flit that it may take. An endpoint that can take none is
    /// skipped until the next flit arrives or a place is released.
    pub(crate) fn take_at_endpoints<S: Sink>(&mut self, sink: &mut S) {
        let mut from = 0;
        while let Some(node) = self.endpoints.receiving.next(from) {
            let first = (self.spec.router_inputs as usize + node) << self.spec.shift;
            let end = &self.endpoints.ends[node];
            let chosen = match self.spec.ejects_by_rank {
                None => end.choose(),
                Some(ranked_first) => {
                    end.choose_by_rank(ranked_first, |v| self.slots.get(self.front(first + v).slot()).header.rank)
                }
            };
            match chosen {
                None => self.endpoints.receiving.remove(node),
                Some(v) => {
                    let vc = first + v;
                    let flit = self.leave_buffer(vc);
                    let state = &mut self.routers.vcs[vc];
                    state.count -= 1;
                    let more = state.count > 0;
                    self.endpoints.ends[node].took(v, flit, more, self.spec.vcs_a_class);
                    if flit.tail() {
                        self.deliver(flit, sink);
                    }
                }
            }
            from = node + 1;
        }
    }

    /// Handles a flit that reaches the end of an ejection channel.
    #[inline]
    pub(crate) fn reaches_endpoint<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.spec.shift;
        if !self.spec.bounded {
            return self.take_flit(vc, sink);
        }
        let node = (vc >> shift) - self.spec.router_inputs as usize;
        self.routers.vcs[vc].count += 1;
        self.endpoints.ends[node].holding |= 1 << (vc & ((1 << shift) - 1));
        self.endpoints.receiving.insert(node);
    }

    /// Lets the endpoint take the front flit of `vc` and return the flit's credit.
    #[inline]
    pub(crate) fn take_flit<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let flit = self.leave_buffer(vc);
        if flit.tail() {
            self.deliver(flit, sink);
        }
    }

    /// Removes the front flit of `vc`, which stands before an endpoint, and sends its credit back.
    /// Returns the flit.
    #[inline]
    pub(crate) fn leave_buffer(&mut self, vc: usize) -> Flit {
        let flit = self.front(vc);
        let state = &mut self.routers.vcs[vc];
        state.head = (state.head + 1) & self.spec.depth_mask;
        let delay = u64::from(self.wiring.links[vc >> self.spec.shift].credit_delay);
        self.routers.credits.push(self.now + delay, vc as u32);
        flit
    }

    #[inline]
    pub(crate) fn deliver<S: Sink>(&mut self, flit: Flit, sink: &mut S) {
        let delivered = self.slots.deliver(flit, self.now);
        if let Some(j) = self.journeys.as_deref_mut() {
            j.note_arrival(&delivered);
        }
        sink.delivered(&delivered);
    }
}
