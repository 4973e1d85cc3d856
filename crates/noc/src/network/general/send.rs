//! The output units: a flit leaves a router and uses a credit of the virtual channel that it goes
//! to.

use super::super::flit::Flit;
use super::super::journey::JourneyStep;
use super::cycle::Cycle;
use super::data::{NONE, PENDING};
use crate::arbiter::Arbiter;
use crate::packet::PacketId;
use baton_units::Cycles;

impl<A: Arbiter> Cycle<'_, A> {
    /// Gives virtual channel `v` of channel `output` to input `i` (number `vc` in the network),
    /// whose head flit is not sent in the same cycle.
    #[inline]
    pub(crate) fn give(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        self.hold_channel(vc, output, v, i);
        if !self.spec.speculative && self.spec.vc_alloc > 1 {
            self.routers.vcs[vc].given |= PENDING;
            self.routers.wakes.push(self.now + self.spec.vc_alloc, vc as u32);
        } else if self.routers.channels[output].credit >> v & 1 == 1 {
            // The head flit is still at the front, so the router stays active.
            self.routers.ready[vc >> 6] |= 1 << (vc & 63);
        }
    }

    /// Marks that input `i` (number `vc` in the network) holds virtual channel `v` of channel
    /// `output` from now on.
    #[inline]
    fn hold_channel(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        let shift = self.spec.shift;
        self.routers.vcs[vc].given = v as u16;
        self.routers.channels[output].free &= !(1 << v);
        self.routers.vcs[(output << shift) + v].owner = i as u16;
    }

    /// Sends a head flit that won both allocations in the same cycle. If the flit is also the tail,
    /// its packet never holds the virtual channel, because the channel would be free again before
    /// any input bids for it.
    #[inline(always)]
    pub(crate) fn send_at_once(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        let tail = self.send(vc, output, v);
        if !tail {
            self.hold_channel(vc, output, v, i);
            self.ready_if_possible(vc);
        } else if self.routers.vcs[vc].count > 0 {
            self.head_at_front(vc);
        }
    }

    /// Sends a flit whose packet was given its virtual channel in an earlier cycle.
    #[inline(always)]
    pub(crate) fn send_given(&mut self, vc: usize, output: usize) {
        let shift = self.spec.shift;
        let v = usize::from(self.routers.vcs[vc].given);
        let tail = self.send(vc, output, v);
        let (word, bit) = (vc >> 6, 1u64 << (vc & 63));
        if tail {
            self.routers.ready[word] &= !bit;
            self.routers.channels[output].free |= 1 << v;
            self.routers.vcs[(output << shift) + v].owner = NONE;
            self.routers.vcs[vc].given = NONE;
            if self.routers.vcs[vc].count > 0 {
                self.head_at_front(vc);
            }
        } else if self.routers.vcs[vc].count == 0 || self.routers.channels[output].credit >> v & 1 == 0 {
            self.routers.ready[word] &= !bit;
        }
    }

    /// Moves the front flit of `vc` to virtual channel `v` of `output`. The flit arrives there, and
    /// its credit upstream, after the delays of the two channels. Returns whether the flit was a
    /// tail.
    #[inline(always)]
    fn send(&mut self, vc: usize, output: usize, v: usize) -> bool {
        let shift = self.spec.shift;
        let flit = self.front(vc).one_hop_on();
        let input = vc >> shift;
        let state = &mut self.routers.vcs[vc];
        state.head = (state.head + 1) & self.spec.depth_mask;
        state.count -= 1;
        let target = (output << shift) + v;
        self.use_credit(output, v);
        let place = &mut self.routers.vcs[target].tail;
        self.routers.flits[(target << self.spec.depth_shift) + usize::from(*place)] = flit;
        *place = (*place + 1) & self.spec.depth_mask;
        self.spec.arbiter.won(&mut self.routers.channels[input].by_vc, (vc & ((1 << shift) - 1)) as u32);
        let credit_delay = self.wiring.links[input].credit_delay;
        let flit_delay = self.wiring.links[output].flit_delay;
        self.routers.channels[output].flits += 1;
        let at = self.now + u64::from(flit_delay);
        if credit_delay == flit_delay {
            self.routers.moves.push(at, (target as u64) << 32 | vc as u64);
        } else {
            self.routers.arrivals.push(at, target as u32);
            self.routers.credits.push(self.now + u64::from(credit_delay), vc as u32);
        }
        if self.journeys.is_some() {
            self.note_hop(flit, output);
        }
        flit.tail()
    }

    #[cold]
    fn note_hop(&mut self, flit: Flit, output: usize) {
        let packet = PacketId(self.slots.get(flit.slot()).id);
        let (router, port) = (self.wiring.links[output].from, u32::from(self.wiring.links[output].out_port));
        if let Some(j) = self.journeys.as_deref_mut() {
            j.note_hop(flit, JourneyStep { cycle: Cycles(self.now), packet, router, port });
        }
    }

    /// Uses up a credit of virtual channel `v` of channel `c`, which must have one.
    #[inline]
    pub(crate) fn use_credit(&mut self, c: usize, v: usize) {
        let shift = self.spec.shift;
        let shared = self.spec.shared;
        let state = &mut self.routers.vcs[(c << shift) + v];
        state.credits -= 1;
        if state.credits <= 0 {
            if shared {
                return self.use_shared(c, v);
            }
            self.routers.channels[c].credit &= !(1 << v);
        }
    }

    /// Like `use_credit`, for shared buffers: a virtual channel without private credits uses a
    /// shared one.
    #[cold]
    fn use_shared(&mut self, c: usize, v: usize) {
        if self.routers.vcs[(c << self.spec.shift) + v].credits < 0 {
            self.routers.channels[c].shared -= 1;
        }
        if self.routers.channels[c].shared == 0 {
            for v in 0..self.spec.config.vcs as usize {
                let vc = (c << self.spec.shift) + v;
                if self.routers.vcs[vc].credits <= 0 {
                    // The input that holds this virtual channel is no longer ready. (Its channel
                    // has sent its one flit of the cycle already.)
                    if let Some(input) = self.holding_input(vc) {
                        self.routers.ready[input >> 6] &= !(1 << (input & 63));
                    }
                    self.routers.channels[c].credit &= !(1 << v);
                }
            }
        }
    }
}
