//! One router's cycle: virtual-channel allocation, switch allocation, and sending the flits that
//! won.

use super::cycle::Cycle;
use super::switch::Pass;
use crate::arbiter::Arbiter;

impl<A: Arbiter> Cycle<'_, A> {
    /// Steps every router that has something to do, in the order of their numbers or in `order`.
    pub(crate) fn step_routers(&mut self, order: Option<Vec<usize>>) {
        if let Some(order) = order {
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

    /// Steps router `r`. Returns whether it still has something to do.
    #[inline]
    fn step_router(&mut self, r: usize) -> bool {
        if self.spec.clocked {
            // A slow router ticks `ticks` times in `cycles` cycles, evenly spread.
            let (ticks, cycles) = self.wiring.routers[r].clock;
            if self.now * u64::from(ticks) % u64::from(cycles) >= u64::from(ticks) {
                return true;
            }
        }
        for w in 0..self.spec.words {
            self.scratch.waiting[w] = self.routers.wait[r * self.spec.words + w];
            self.scratch.ready[w] = self.routers.ready[r * self.spec.words + w];
        }
        self.allocate(r);
        (0..self.spec.words)
            .any(|w| (self.routers.wait[r * self.spec.words + w] | self.routers.ready[r * self.spec.words + w]) != 0)
    }

    /// Allocates virtual channels and the switch among the bids in `scratch`, and sends the flits
    /// that won.
    #[inline(never)]
    fn allocate(&mut self, r: usize) {
        let first = r << self.spec.block;
        let any_channel = self.bid_for_channels(r);
        let normal = self.allocate_switch(r, Pass::Normal);
        let speculative =
            if self.spec.speculative && any_channel { self.allocate_switch(r, Pass::Speculative) } else { 0 };
        let (normal, speculative) = self.resolve_speculation(r, normal, speculative);
        let mut rest = normal;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let vc = first | usize::from(self.scratch.winner[Pass::Normal as usize][out]);
            self.send_given(vc, self.routers.vcs[vc].output as usize);
        }
        if any_channel {
            self.give_channels(r, speculative);
        }
    }

    #[inline]
    fn allocate_switch(&mut self, r: usize, pass: Pass) -> u64 {
        if self.spec.fused { self.match_inputs_first(r, pass) } else { self.match_by_matrix(r, pass) }
    }

    /// Drops speculative wins at an output or input that the non-speculative allocator has granted.
    /// If the arbiter has ranks, a speculative packet of smaller rank instead drops the
    /// non-speculative wins in its way. Returns the outputs granted to non-speculative and to
    /// speculative bids.
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
            inputs |= 1 << (self.scratch.winner[0][out] >> self.spec.shift);
        }
        let (mut normal, mut kept) = (normal, 0);
        let mut rest = speculative;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let port = self.scratch.winner[1][out] >> self.spec.shift;
            let clash = normal >> out & 1 == 1 || inputs >> port & 1 == 1;
            if !clash || (A::RANKS && self.outranks(r, out, &mut normal, &mut inputs)) {
                kept |= 1 << out;
            }
        }
        (normal, kept)
    }

    /// Whether the speculative winner of `out`, which must have won a virtual channel with a
    /// credit, outranks every non-speculative winner in its way. If so, removes those winners from
    /// `normal` and `inputs`.
    #[cold]
    fn outranks(&mut self, r: usize, out: usize, normal: &mut u64, inputs: &mut u64) -> bool {
        let first = r << self.spec.block;
        let i = usize::from(self.scratch.winner[1][out]);
        let port = i >> self.spec.shift;
        let Some(v) = self.channel_won(i, out) else { return false };
        if self.routers.channels[self.routers.vcs[first + i].output as usize].credit >> v & 1 == 0 {
            return false;
        }
        let rank = self.spec.arbiter.rank(self.contender(first + i));
        let rivals: Vec<usize> = (0..64)
            .filter(|o| *normal >> o & 1 == 1)
            .filter(|o| *o == out || usize::from(self.scratch.winner[0][*o]) >> self.spec.shift == port)
            .collect();
        let beaten = |o: &usize| {
            let rival = first + usize::from(self.scratch.winner[0][*o]);
            rank < self.spec.arbiter.rank(self.contender(rival))
        };
        if !rivals.iter().all(beaten) {
            return false;
        }
        for o in rivals {
            *normal &= !(1 << o);
            *inputs &= !(1 << (usize::from(self.scratch.winner[0][o]) >> self.spec.shift));
        }
        *inputs |= 1 << port;
        true
    }

    /// Returns the virtual channel of `out` that input `i` has won in this cycle.
    fn channel_won(&self, i: usize, out: usize) -> Option<usize> {
        (0..self.spec.config.vcs as usize).find(|v| {
            let wanted = (out << self.spec.shift) + v;
            self.scratch.wanted[wanted >> 6] >> (wanted & 63) & 1 == 1 && usize::from(self.scratch.leader[wanted]) == i
        })
    }

    /// Gives the virtual channels to the inputs that won them. A head flit that also won the switch
    /// is sent at once.
    #[inline]
    fn give_channels(&mut self, r: usize, granted: u64) {
        let first = r << self.spec.block;
        for word in 0..self.spec.words {
            let mut won = std::mem::take(&mut self.scratch.wanted[word]);
            while won != 0 {
                let wanted = word << 6 | won.trailing_zeros() as usize;
                won &= won - 1;
                let (out, v) = (wanted >> self.spec.shift, wanted & ((1 << self.spec.shift) - 1));
                let i = usize::from(self.scratch.leader[wanted]);
                let vc = first | i;
                let output = self.routers.vcs[vc].output as usize;
                self.spec.arbiter.won(&mut self.routers.vcs[(output << self.spec.shift) + v].arbiter, i as u32);
                self.routers.vcs[vc].bid_from = (wanted + 1) as u16;
                self.routers.wait[vc >> 6] &= !(1 << (vc & 63));
                let granted_here =
                    granted >> out & 1 == 1 && usize::from(self.scratch.winner[Pass::Speculative as usize][out]) == i;
                if granted_here && self.routers.channels[output].credit >> v & 1 == 1 {
                    self.send_at_once(vc, output, v, i);
                } else {
                    self.give(vc, output, v, i);
                }
            }
        }
    }
}
