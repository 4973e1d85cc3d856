//! Handles what the timing wheels deliver in a cycle: credits, virtual channels whose allocation is
//! complete, and flits.
//!
//! The order of the three does not matter: a virtual channel is ready when it has an output, a flit
//! and a credit, and each event checks all three.

use super::cycle::Cycle;
use super::data::{NONE, PENDING};
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Cycle<'_, A> {
    pub(crate) fn arrive<S: Sink>(&mut self, sink: &mut S) {
        let (at, n) = self.routers.credits.take(self.now);
        for k in at..at + n {
            let vc = self.routers.credits.get(k) as usize;
            self.credit_arrives(vc);
        }
        let (moves, pairs) = self.routers.moves.take(self.now);
        for k in moves..moves + pairs {
            let pair = self.routers.moves.get(k);
            self.credit_arrives(pair as u32 as usize);
        }
        let (at, n) = self.routers.wakes.take(self.now);
        for k in at..at + n {
            let vc = self.routers.wakes.get(k) as usize;
            self.routers.vcs[vc].given &= !PENDING;
            self.ready_if_possible(vc);
        }
        for k in moves..moves + pairs {
            let pair = self.routers.moves.get(k);
            self.flit_arrives((pair >> 32) as usize, sink);
        }
        let (at, n) = self.routers.arrivals.take(self.now);
        for k in at..at + n {
            let vc = self.routers.arrivals.get(k) as usize;
            self.flit_arrives(vc, sink);
        }
    }

    #[inline]
    fn credit_arrives(&mut self, vc: usize) {
        let shift = self.spec.shift;
        let shared = self.spec.shared;
        let c = vc >> shift;
        let state = &mut self.routers.vcs[vc];
        state.credits += 1;
        let channel = &mut self.routers.channels[c];
        if shared && state.credits <= 0 {
            // The virtual channel had used more than its own credits, so the returned credit
            // belongs to the shared buffer, which every virtual channel may use.
            channel.shared += 1;
            if channel.shared == 1 {
                self.shared_credit_appears(c);
            }
            return;
        }
        channel.credit |= 1 << (vc & ((1 << shift) - 1));
        if let Some(input) = self.holding_input(vc) {
            self.ready_if_possible(input);
        }
    }

    /// Marks that channel `c` has a shared credit again, which gives every virtual channel of `c` a
    /// credit.
    #[cold]
    fn shared_credit_appears(&mut self, c: usize) {
        for v in 0..self.spec.config.vcs as usize {
            self.routers.channels[c].credit |= 1 << v;
            if let Some(input) = self.holding_input((c << self.spec.shift) + v) {
                self.ready_if_possible(input);
            }
        }
    }

    #[inline(always)]
    fn flit_arrives<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.spec.shift;
        let c = vc >> shift;
        if c >= self.spec.router_inputs as usize {
            return self.reaches_endpoint(vc, sink);
        }
        let state = &mut self.routers.vcs[vc];
        state.count += 1;
        if state.count != 1 {
            return;
        }
        if state.given == NONE {
            self.head_at_front(vc);
        } else {
            self.ready_if_possible(vc);
        }
    }
}
