//! One router's cycle: virtual-channel allocation, switch allocation, and the sending of the flits that won.

use super::Network;
use super::arrive::PENDING;
use super::state::NONE;
use super::switch::Kind;
use crate::arbiter::Arbiter;

impl<A: Arbiter> Network<A> {
    /// Steps every router that has something to do.
    pub(super) fn step_routers(&mut self) {
        if let Some(order) = self.shuffled() {
            return order.into_iter().for_each(|r| self.step_if_active(r));
        }
        let mut from = 0;
        while let Some(r) = self.active.next(from) {
            self.step_if_active(r);
            from = r + 1;
        }
    }

    fn step_if_active(&mut self, r: usize) {
        if self.active.contains(r) && !self.step_router(r) {
            self.active.remove(r);
        }
    }

    /// The routers in an order drawn anew, if they are to be shuffled.
    pub(super) fn shuffled(&mut self) -> Option<Vec<usize>> {
        let rng = self.step_order.as_mut()?;
        let mut order: Vec<usize> = (0..self.routers.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        Some(order)
    }

    /// True while the router has something to do.
    #[inline]
    fn step_router(&mut self, r: usize) -> bool {
        if self.clocked {
            // A slow router ticks `ticks` times in `cycles` cycles, evenly spread.
            let (ticks, cycles) = self.routers[r].clock;
            if self.now * u64::from(ticks) % u64::from(cycles) >= u64::from(ticks) {
                return true;
            }
        }
        for w in 0..self.words {
            self.scratch.waiting[w] = self.wait[r * self.words + w];
            self.scratch.ready[w] = self.ready[r * self.words + w];
        }
        self.allocate(r);
        (0..self.words).any(|w| (self.wait[r * self.words + w] | self.ready[r * self.words + w]) != 0)
    }

    /// Allocates virtual channels and the switch among the bids in `scratch`, and sends what won.
    #[inline(never)]
    fn allocate(&mut self, r: usize) {
        let first = r << self.block;
        let any_channel = self.bid_for_channels(r);
        let normal = self.allocate_switch(r, Kind::Normal);
        let speculative = if self.speculative && any_channel { self.allocate_switch(r, Kind::Speculative) } else { 0 };
        let (normal, speculative) = self.resolve_speculation(r, normal, speculative);
        let mut rest = normal;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let vc = first | usize::from(self.scratch.winner[Kind::Normal as usize][out]);
            self.send_given(vc, self.vcs[vc].output as usize);
        }
        if any_channel {
            self.give_channels(r, speculative);
        }
    }

    #[inline]
    fn allocate_switch(&mut self, r: usize, kind: Kind) -> u64 {
        if self.fused { self.match_inputs_first(r, kind) } else { self.match_by_matrix(r, kind) }
    }

    /// Drops speculative wins at an output or input that the non-speculative allocator has granted. An arbiter with
    /// ranks may turn that round for a packet of smaller rank. Gives the outputs granted to either.
    #[inline]
    fn resolve_speculation(&mut self, r: usize, normal: u64, speculative: u64) -> (u64, u64) {
        if speculative == 0 || (normal == 0 && !A::RANKS) {
            return (normal, speculative);
        }
        let mut inputs = 0u64;
        let mut rest = normal;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            inputs |= 1 << (self.scratch.winner[0][out] >> self.shift);
        }
        let (mut normal, mut kept) = (normal, 0);
        let mut rest = speculative;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let port = self.scratch.winner[1][out] >> self.shift;
            let clash = normal >> out & 1 == 1 || inputs >> port & 1 == 1;
            if !clash || (A::RANKS && self.outranks(r, out, &mut normal, &mut inputs)) {
                kept |= 1 << out;
            }
        }
        (normal, kept)
    }

    /// Whether the speculative winner of `out`, which is sure of a virtual channel with a credit, outranks every
    /// non-speculative winner in its way; these are then dropped.
    #[cold]
    fn outranks(&mut self, r: usize, out: usize, normal: &mut u64, inputs: &mut u64) -> bool {
        let first = r << self.block;
        let i = usize::from(self.scratch.winner[1][out]);
        let port = i >> self.shift;
        let Some(v) = self.channel_won(i, out) else { return false };
        if self.channels[self.vcs[first + i].output as usize].credit >> v & 1 == 0 {
            return false;
        }
        let rank = self.arbiter.rank(self.contender(first + i));
        let rivals: Vec<usize> = (0..64)
            .filter(|o| *normal >> o & 1 == 1)
            .filter(|o| *o == out || usize::from(self.scratch.winner[0][*o]) >> self.shift == port)
            .collect();
        let beaten = |o: &usize| {
            let rival = first + usize::from(self.scratch.winner[0][*o]);
            rank < self.arbiter.rank(self.contender(rival))
        };
        if !rivals.iter().all(beaten) {
            return false;
        }
        for o in rivals {
            *normal &= !(1 << o);
            *inputs &= !(1 << (usize::from(self.scratch.winner[0][o]) >> self.shift));
        }
        *inputs |= 1 << port;
        true
    }

    /// The virtual channel of `out` that input `i` has won in this cycle.
    fn channel_won(&self, i: usize, out: usize) -> Option<usize> {
        (0..self.config.vcs as usize).find(|v| {
            let wanted = (out << self.shift) + v;
            self.scratch.wanted[wanted >> 6] >> (wanted & 63) & 1 == 1 && usize::from(self.scratch.leader[wanted]) == i
        })
    }

    /// Hands out the virtual channels that were won; a head that won the switch as well goes at once.
    #[inline]
    fn give_channels(&mut self, r: usize, granted: u64) {
        let first = r << self.block;
        for word in 0..self.words {
            let mut won = std::mem::take(&mut self.scratch.wanted[word]);
            while won != 0 {
                let wanted = word << 6 | won.trailing_zeros() as usize;
                won &= won - 1;
                let (out, v) = (wanted >> self.shift, wanted & ((1 << self.shift) - 1));
                let i = usize::from(self.scratch.leader[wanted]);
                let vc = first | i;
                let output = self.vcs[vc].output as usize;
                self.arbiter.won(&mut self.vcs[(output << self.shift) + v].arbiter, i as u32);
                self.vcs[vc].bid_from = (wanted + 1) as u16;
                self.wait[vc >> 6] &= !(1 << (vc & 63));
                let granted_here =
                    granted >> out & 1 == 1 && usize::from(self.scratch.winner[Kind::Speculative as usize][out]) == i;
                if granted_here && self.channels[output].credit >> v & 1 == 1 {
                    self.send_at_once(vc, output, v, i);
                } else {
                    self.give(vc, output, v, i);
                }
            }
        }
    }

    /// Input `i`, number `vc`, was given virtual channel `v` of channel `output` but not the switch.
    #[inline]
    pub(super) fn give(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        self.hold_channel(vc, output, v, i);
        if !self.speculative && self.vc_alloc > 1 {
            self.vcs[vc].given |= PENDING;
            self.wakes.push(self.now + self.vc_alloc, vc as u32);
        } else if self.channels[output].credit >> v & 1 == 1 {
            // Its head flit is still at the front, and the router stays active.
            self.ready[vc >> 6] |= 1 << (vc & 63);
        }
    }

    /// Input `i`, number `vc`, holds virtual channel `v` of channel `output` from now on.
    #[inline]
    fn hold_channel(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        let shift = self.shift;
        self.vcs[vc].given = v as u16;
        self.channels[output].free &= !(1 << v);
        self.vcs[(output << shift) + v].owner = i as u16;
    }

    /// A head flit that won both allocations in one cycle. One that is the tail too never holds its channel: it would
    /// be free again before anybody looks.
    #[inline(always)]
    pub(super) fn send_at_once(&mut self, vc: usize, output: usize, v: usize, i: usize) {
        let tail = self.send(vc, output, v);
        if !tail {
            self.hold_channel(vc, output, v, i);
            self.ready_if_possible(vc);
        } else if self.vcs[vc].count > 0 {
            self.head_at_front(vc);
        }
    }

    /// A flit of a packet that was given its channel in an earlier cycle.
    #[inline(always)]
    pub(super) fn send_given(&mut self, vc: usize, output: usize) {
        let shift = self.shift;
        let v = usize::from(self.vcs[vc].given);
        let tail = self.send(vc, output, v);
        let (word, bit) = (vc >> 6, 1u64 << (vc & 63));
        if tail {
            self.ready[word] &= !bit;
            self.channels[output].free |= 1 << v;
            self.vcs[(output << shift) + v].owner = NONE;
            self.vcs[vc].given = NONE;
            if self.vcs[vc].count > 0 {
                self.head_at_front(vc);
            }
        } else if self.vcs[vc].count == 0 || self.channels[output].credit >> v & 1 == 0 {
            self.ready[word] &= !bit;
        }
    }

    /// Moves the front flit of `vc` to virtual channel `v` of `output`: it will be there, and its credit back
    /// upstream, when the delays of the two channels have passed. True if it was a tail.
    #[inline(always)]
    fn send(&mut self, vc: usize, output: usize, v: usize) -> bool {
        let shift = self.shift;
        let flit = self.front(vc).one_hop_on();
        let input = vc >> shift;
        let state = &mut self.vcs[vc];
        state.head = (state.head + 1) & self.depth_mask;
        state.count -= 1;
        let target = (output << shift) + v;
        self.use_credit(output, v);
        let place = &mut self.vcs[target].tail;
        self.flits[(target << self.depth_shift) + usize::from(*place)] = flit;
        *place = (*place + 1) & self.depth_mask;
        self.arbiter.won(&mut self.channels[input].by_vc, (vc & ((1 << shift) - 1)) as u32);
        let credit_delay = self.channels[input].credit_delay;
        let channel = &mut self.channels[output];
        channel.flits += 1;
        let at = self.now + u64::from(channel.flit_delay);
        if credit_delay == channel.flit_delay {
            self.moves.push(at, (target as u64) << 32 | vc as u64);
        } else {
            self.arrivals.push(at, target as u32);
            self.credits.push(self.now + u64::from(credit_delay), vc as u32);
        }
        if self.journeys.is_some() {
            self.note_hop(flit, output);
        }
        flit.tail()
    }

    /// Takes a credit of virtual channel `v` of channel `c`, which has one.
    #[inline]
    pub(super) fn use_credit(&mut self, c: usize, v: usize) {
        let shift = self.shift;
        let shared = self.shared;
        let state = &mut self.vcs[(c << shift) + v];
        state.credits -= 1;
        if state.credits <= 0 {
            if shared {
                return self.use_shared(c, v);
            }
            self.channels[c].credit &= !(1 << v);
        }
    }

    /// The same with a shared buffer: below its own places a virtual channel lives on the shared ones.
    #[cold]
    fn use_shared(&mut self, c: usize, v: usize) {
        if self.vcs[(c << self.shift) + v].credits < 0 {
            self.channels[c].shared -= 1;
        }
        if self.channels[c].shared == 0 {
            for v in 0..self.config.vcs as usize {
                let state = &self.vcs[(c << self.shift) + v];
                if state.credits <= 0 {
                    // Whoever was ready for it is so no more: this channel has its flit of the cycle.
                    if state.owner != NONE && !self.channels[c].from_source {
                        let input = (self.channels[c].from as usize) << self.block | usize::from(state.owner);
                        self.ready[input >> 6] &= !(1 << (input & 63));
                    }
                    self.channels[c].credit &= !(1 << v);
                }
            }
        }
    }
}
