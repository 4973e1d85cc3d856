//! Virtual-channel allocation: separable, input first, one iteration.
//!
//! Each waiting head flit bids for one free virtual channel of its output, in round-robin order,
//! and each output virtual channel picks one head flit. The pointers move on a win. The same pass
//! finds the speculative bids for the switch: a head bids if some output virtual channel that it
//! may take is free and has a credit.

use super::super::turns::next_in_turn;
use super::cycle::Cycle;
use crate::arbiter::Arbiter;
use crate::rng::mix;
use crate::routing::Choice;

impl<A: Arbiter> Cycle<'_, A> {
    /// Collects the bids of router `r`. Afterwards `scratch.wanted` and `scratch.leader` hold the
    /// winners, and `scratch.speculative` the bids for the switch. Returns whether there is a
    /// winner.
    #[inline]
    pub(crate) fn bid_for_channels(&mut self, r: usize) -> bool {
        let first = r << self.spec.block;
        let mut any = false;
        for w in 0..self.spec.words {
            let mut waiting = self.scratch.waiting[w];
            let mut speculative = 0;
            while waiting != 0 {
                let bit = waiting.trailing_zeros();
                waiting &= waiting - 1;
                let i = w << 6 | bit as usize;
                let vc = first + i;
                if let Choice::Port { escape } = self.wiring.routes.choice {
                    self.choose_port(r, vc, escape);
                }
                let state = &self.routers.vcs[vc];
                let out = usize::from(state.out);
                let channel = &self.routers.channels[state.output as usize];
                let free = channel.free & state.mask;
                if free == 0 {
                    continue;
                }
                speculative |= u64::from(free & channel.credit != 0) << bit;
                let v = next_in_turn(free, self.bid_start(state.bid_from, out));
                self.contest(first, i, (out << self.spec.shift) + v, state.output as usize);
                any = true;
            }
            self.scratch.speculative[w] = speculative;
        }
        any
    }

    /// Returns the virtual channel of `out` at which the bids start. The pointer counts over all
    /// virtual channels of all outputs; if it points into another output, the bids start at 0.
    #[inline]
    pub(crate) fn bid_start(&self, bid_from: u16, out: usize) -> u32 {
        let shift = self.spec.shift;
        let (port, v) = (usize::from(bid_from) >> shift, u32::from(bid_from) & ((1 << shift) - 1));
        if port == out { v } else { 0 }
    }

    /// Enters the bid of input `i` for the output virtual channel `wanted`; the better bid stays.
    #[inline]
    fn contest(&mut self, first: usize, i: usize, wanted: usize, output: usize) {
        let (word, bit) = (wanted >> 6, 1u64 << (wanted & 63));
        if self.scratch.wanted[word] & bit != 0 {
            let rival = usize::from(self.scratch.leader[wanted]);
            let arbiter =
                &self.routers.vcs[(output << self.spec.shift) + (wanted & ((1 << self.spec.shift) - 1))].arbiter;
            let ours = self.spec.arbiter.key(arbiter, i as u32, || self.contender(first + i));
            let theirs = self.spec.arbiter.key(arbiter, rival as u32, || self.contender(first + rival));
            if (ours, i) >= (theirs, rival) {
                return;
            }
        }
        self.scratch.wanted[word] |= bit;
        self.scratch.leader[wanted] = i as u16;
    }

    /// Adaptive routing: chooses, among the ports that the packet may take, the one with the most
    /// free virtual channels; if none has any, the escape channel. Chance decides between equal
    /// ports.
    #[cold]
    fn choose_port(&mut self, r: usize, vc: usize, escape: bool) {
        let flit = self.front(vc);
        let router = self.wiring.routers[r];
        let mut ports = self.wiring.routes.ports[r * self.wiring.routes.nodes + flit.dest()];
        let class = usize::from(escape);
        let adaptive = self.wiring.masks[flit.network() * self.wiring.lanes + class];
        let turn = mix(self.now ^ (vc as u64) << 32);
        let mut best = (0, 0, u16::MAX);
        while ports != 0 {
            let port = ports.trailing_zeros();
            ports &= ports - 1;
            let channel = &self.routers.channels[self.wiring.outputs[(router.outputs + port) as usize] as usize];
            let free = (channel.free & adaptive).count_ones();
            let rank = (free, turn >> port & 1, port as u16);
            if best.2 == u16::MAX || (rank.0, rank.1) > (best.0, best.1) {
                best = rank;
            }
        }
        let state = &mut self.routers.vcs[vc];
        (state.out, state.mask) = (best.2, adaptive);
        if escape && best.0 == 0 {
            let entry = self.wiring.route[r * self.spec.nodes as usize + flit.dest()];
            state.out = entry & 0xff;
            state.mask = self.wiring.masks[flit.network() * self.wiring.lanes];
        }
        state.output = self.wiring.outputs[router.outputs as usize + usize::from(state.out)];
    }
}
