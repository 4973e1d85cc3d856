//! What the timing wheels bring in a cycle: credits, virtual channels whose allocation is done, and flits.
//!
//! The three commute: a virtual channel is ready when it has been given an output, holds a flit and has a credit, and
//! each event looks at all three.

use super::Network;
use super::flit::Flit;
use super::state::NONE;
use crate::arbiter::Arbiter;
use crate::packet::Sink;
use crate::routing::Choice;

impl<A: Arbiter> Network<A> {
    pub(super) fn arrive<S: Sink>(&mut self, sink: &mut S) {
        let (at, n) = self.credits.take(self.now);
        for k in at..at + n {
            let vc = self.credits.get(k) as usize;
            self.credit_arrives(vc);
        }
        let (moves, pairs) = self.moves.take(self.now);
        for k in moves..moves + pairs {
            let pair = self.moves.get(k);
            self.credit_arrives(pair as u32 as usize);
        }
        let (at, n) = self.wakes.take(self.now);
        for k in at..at + n {
            let vc = self.wakes.get(k) as usize;
            self.vcs[vc].given &= !PENDING;
            self.ready_if_possible(vc);
        }
        for k in moves..moves + pairs {
            let pair = self.moves.get(k);
            self.flit_arrives((pair >> 32) as usize, sink);
        }
        let (at, n) = self.arrivals.take(self.now);
        for k in at..at + n {
            let vc = self.arrivals.get(k) as usize;
            self.flit_arrives(vc, sink);
        }
    }

    #[inline]
    fn credit_arrives(&mut self, vc: usize) {
        let shift = self.shift;
        let shared = self.shared;
        let c = vc >> shift;
        let state = &mut self.vcs[vc];
        state.credits += 1;
        let owner = state.owner;
        let channel = &mut self.channels[c];
        if shared && state.credits <= 0 {
            // It had more than its own places: the one that came back is a shared one, for anybody.
            channel.shared += 1;
            if channel.shared == 1 {
                self.shared_place_appears(c);
            }
            return;
        }
        channel.credit |= 1 << (vc & ((1 << shift) - 1));
        if owner != NONE && !channel.from_source {
            let input = (channel.from as usize) << self.block | usize::from(owner);
            self.ready_if_possible(input);
        }
    }

    /// The shared buffer of channel `c` has a place again: every virtual channel of it has a credit.
    #[cold]
    fn shared_place_appears(&mut self, c: usize) {
        for v in 0..self.config.vcs as usize {
            self.channels[c].credit |= 1 << v;
            let owner = self.vcs[(c << self.shift) + v].owner;
            if owner != NONE && !self.channels[c].from_source {
                let input = (self.channels[c].from as usize) << self.block | usize::from(owner);
                self.ready_if_possible(input);
            }
        }
    }

    #[inline(always)]
    fn flit_arrives<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.shift;
        let c = vc >> shift;
        if c >= self.router_inputs as usize {
            return self.reaches_endpoint(vc, sink);
        }
        let state = &mut self.vcs[vc];
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

    /// A packet's head flit stands at the front of `vc`: from now on it bids for an output virtual channel.
    #[inline(always)]
    pub(super) fn head_at_front(&mut self, vc: usize) {
        let r = vc >> self.block;
        let mut flit = self.front(vc);
        debug_assert!(flit.head(), "the first flit of a packet is its head");
        if self.routes.choice == Choice::Intermediate && !flit.second_phase() {
            flit = self.turn_at_intermediate(vc, r, flit);
        }
        let table = r * self.nodes as usize + if flit.second_phase() { self.table_two } else { 0 };
        let entry = self.route[table + flit.dest()];
        let class = usize::from(entry >> 8);
        let out = entry & 0xff;
        let output = self.outputs[self.routers[r].outputs as usize + usize::from(out)];
        let state = &mut self.vcs[vc];
        (state.out, state.output) = (out, output);
        state.mask = self.masks[flit.network() * self.lanes + class];
        self.wait[vc >> 6] |= 1 << (vc & 63);
        self.active.insert(r);
    }

    /// Valiant: at its intermediate node's router a packet turns toward its destination.
    #[cold]
    fn turn_at_intermediate(&mut self, vc: usize, r: usize, flit: Flit) -> Flit {
        if self.graph.nodes[flit.dest()].to_router as usize != r {
            return flit;
        }
        let turned = flit.turned(self.slots.get(flit.slot()).dst);
        let at = (vc << self.depth_shift) + usize::from(self.vcs[vc].head);
        self.flits[at] = turned;
        turned
    }

    /// Marks `vc` ready for the switch if it has been given an output, holds a flit and has a credit.
    #[inline]
    pub(super) fn ready_if_possible(&mut self, vc: usize) {
        let state = &self.vcs[vc];
        if state.count == 0 || state.given >= PENDING {
            return;
        }
        if self.channels[state.output as usize].credit >> state.given & 1 == 1 {
            let r = vc >> self.block;
            self.ready[vc >> 6] |= 1 << (vc & 63);
            self.active.insert(r);
        }
    }
}

/// Set in `given` while a non-speculative allocation of more than one cycle is under way.
pub(super) const PENDING: u16 = 1 << 8;
