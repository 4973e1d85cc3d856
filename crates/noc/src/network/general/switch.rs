//! Switch allocation, separable input-first, in the three steps of the reference.
//!
//! First, each pair of input and output keeps one of the virtual channels that bid; then each input
//! picks an output; then each output picks an input. The code takes the bids one by one, and only a
//! rival costs a comparison. The pointers of the last two steps move for a bid that wins both. The
//! first step's pointer stands behind the virtual channel that sent last; `send.rs` moves it.

use super::cycle::Cycle;
use crate::arbiter::Arbiter;

/// Which of the two allocations runs: the non-speculative or the speculative one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Normal = 0,
    Speculative = 1,
}

impl<A: Arbiter> Cycle<'_, A> {
    /// Matches the bids of router `r`. Returns the bit set of outputs with a winner;
    /// `scratch.winner` holds the winning input of each.
    #[inline]
    pub(crate) fn match_inputs_first(&mut self, r: usize, pass: Pass) -> u64 {
        let first = r << self.spec.block;
        let k = pass as usize;
        let mut outputs = 0u64;
        for w in 0..self.spec.words {
            let mut bids = match pass {
                Pass::Normal => self.scratch.ready[w],
                Pass::Speculative => self.scratch.speculative[w],
            };
            while bids != 0 {
                let base = bids.trailing_zeros() >> self.spec.shift << self.spec.shift;
                let port_bids = bids & (self.spec.lane << base);
                bids &= !port_bids;
                let i = if port_bids & (port_bids - 1) == 0 {
                    w << 6 | port_bids.trailing_zeros() as usize
                } else {
                    self.pick_channel(first, w, port_bids, k)
                };
                let out = usize::from(self.routers.vcs[first + i].out);
                if outputs >> out & 1 == 1 && !self.beats(first, out, k, i) {
                    continue;
                }
                outputs |= 1 << out;
                self.scratch.winner[k][out] = i as u16;
            }
        }
        let mut rest = outputs;
        while rest != 0 {
            let out = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let i = usize::from(self.scratch.winner[k][out]);
            let port = i >> self.spec.shift;
            let input = (first + i) >> self.spec.shift;
            self.spec.arbiter.won(&mut self.routers.channels[input].by_output[k], out as u32);
            let output = self.routers.vcs[first + i].output as usize;
            self.spec.arbiter.won(&mut self.routers.channels[output].by_input[k], port as u32);
        }
        outputs
    }

    /// Steps one and two for an input port on which several virtual channels bid: keeps one virtual
    /// channel for each output, then picks an output. Returns the number, within the router, of the
    /// virtual channel that bids for that output.
    pub(crate) fn pick_channel(&mut self, first: usize, w: usize, mut bids: u64, k: usize) -> usize {
        let shift = self.spec.shift;
        let input = (first + (w << 6 | bids.trailing_zeros() as usize)) >> shift;
        let mut outputs = 0u64;
        let lane = (1usize << shift) - 1;
        while bids != 0 {
            let i = w << 6 | bids.trailing_zeros() as usize;
            bids &= bids - 1;
            let out = usize::from(self.routers.vcs[first + i].out);
            if outputs >> out & 1 == 1 {
                let rival = usize::from(self.scratch.best[out]);
                let state = &self.routers.channels[input].by_vc;
                let ours = self.spec.arbiter.key(state, (i & lane) as u32, || self.contender(first + i));
                let theirs = self.spec.arbiter.key(state, (rival & lane) as u32, || self.contender(first + rival));
                if ours >= theirs {
                    continue;
                }
            }
            outputs |= 1 << out;
            self.scratch.best[out] = i as u16;
        }
        let mut best = usize::MAX;
        let mut best_key = 0;
        let single = outputs & (outputs - 1) == 0;
        while outputs != 0 {
            let out = outputs.trailing_zeros();
            outputs &= outputs - 1;
            let i = usize::from(self.scratch.best[out as usize]);
            if single {
                return i;
            }
            let key =
                self.spec.arbiter.key(&self.routers.channels[input].by_output[k], out, || self.contender(first + i));
            if best == usize::MAX || key < best_key {
                (best, best_key) = (i, key);
            }
        }
        best
    }

    /// Step three: whether input `i` takes output `out` from the best input so far.
    #[inline]
    fn beats(&self, first: usize, out: usize, k: usize, i: usize) -> bool {
        let rival = usize::from(self.scratch.winner[k][out]);
        let output = self.routers.vcs[first + i].output as usize;
        let state = &self.routers.channels[output].by_input[k];
        let ours = self.spec.arbiter.key(state, (i >> self.spec.shift) as u32, || self.contender(first + i));
        let theirs = self.spec.arbiter.key(state, (rival >> self.spec.shift) as u32, || self.contender(first + rival));
        ours < theirs
    }
}
