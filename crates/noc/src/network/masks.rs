//! Both allocations of a router whose inputs fit one word: the same rules as in `vc_alloc.rs` and `switch.rs`, output
//! by output on bit masks, so that a bid without a rival costs a few operations and blocked heads cost nothing.
//!
//! `want` holds for each output the inputs whose packet goes there. A test holds that this path and the general one
//! give the same bytes.

use super::Network;
use super::state::Output;
use super::vc_alloc::next_in_turn;
use crate::arbiter::Arbiter;

/// Virtual channels won in this cycle: input, virtual channel, output channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Won {
    input: u8,
    v: u8,
    output: u32,
}

impl<A: Arbiter> Network<A> {
    /// Allocates among heads that wait and flits that are ready, and sends what won.
    pub(super) fn allocate_by_masks<const FAST: bool>(&mut self, r: usize, wait: u64, ready: u64) {
        let shift = self.shift::<FAST>();
        let outputs = self.output_index::<FAST>(r << 6, 0);
        let ports = usize::from(self.routers[r].out_ports);
        let every = wait | ready;
        let mut all = every;
        let mut ready = self.one_a_port::<FAST>(r, ready, 0);
        let (mut busy, mut taken, mut speculative, mut heads) = (0u64, 0u64, 0u64, 0u64);
        let mut won = 0;
        for out in 0..ports {
            let Output { want, channel: output } = self.outputs[outputs + out];
            let (want, output) = (want & all, output as usize);
            if want == 0 {
                continue;
            }
            let i = want.trailing_zeros();
            let lane = self.lane::<FAST>() << (i >> shift << shift);
            if every & lane == want && want & (want - 1) == 0 {
                // Nothing else bids at this output or at this input. What is sent now may bring the next packet to
                // the front; it takes part from the next cycle on.
                all &= !want;
                let bid = i as usize;
                if wait & want != 0 {
                    self.lone_head::<FAST>(r, bid)
                } else {
                    self.lone_body::<FAST>(r, bid)
                }
                continue;
            }
            let (bodies, waiting) = (want & ready, want & wait);
            if waiting != 0 {
                heads |= 1 << out;
                speculative |= self.bid_for::<FAST>(r, out, output, waiting, &mut won);
            }
            if bodies != 0 {
                let i = self.pick_input::<FAST>(r, out, output, bodies, 0);
                busy |= self.lane::<FAST>() << (i >> shift << shift);
                taken |= 1 << out;
                ready &= !(1 << i);
                all &= !(1 << i);
                self.send_given::<FAST>(r << 6 | i, output);
            }
        }
        if won == 0 {
            return;
        }
        let mut go = 0u64;
        if self.speculative && speculative != 0 {
            let bids = self.one_a_port::<FAST>(r, speculative, 1);
            while heads != 0 {
                let out = heads.trailing_zeros() as usize;
                heads &= heads - 1;
                let Output { want, channel } = self.outputs[outputs + out];
                let here = want & bids;
                if here != 0 {
                    let i = self.pick_input::<FAST>(r, out, channel as usize, here, 1);
                    go |= (!taken >> out & 1) << i;
                }
            }
            // Dropped at an input or output that the other allocator granted; the pointers have moved all the same.
            go &= !busy;
        }
        for k in 0..won {
            let Won { input, v, output } = self.scratch.won[k & 63];
            let (i, v, output) = (usize::from(input), usize::from(v), output as usize);
            if go >> i & 1 == 1 && self.channels[output].credit >> v & 1 == 1 {
                self.send_at_once::<FAST>(r << 6 | i, output, v, i);
            } else {
                self.give::<FAST>(r << 6 | i, output, v, i);
            }
        }
    }

    /// Steps one and two of the switch allocation: at most one bid a port.
    #[inline]
    fn one_a_port<const FAST: bool>(&mut self, r: usize, bids: u64, k: usize) -> u64 {
        // Lane by lane: more than one bit below the highest, or the highest and another.
        let (low, high) =
            if FAST { (0x0101_0101_0101_0101, 0x8080_8080_8080_8080) } else { (self.lane_low, self.lane_high) };
        let rest = bids & !high;
        let several = (rest & (rest | high).wrapping_sub(low) & !high) | (bids & rest.wrapping_add(!high) & high);
        if several == 0 { bids } else { self.thin_out::<FAST>(r, bids, several, k) }
    }

    #[inline(never)]
    fn thin_out<const FAST: bool>(&mut self, r: usize, bids: u64, mut several: u64, k: usize) -> u64 {
        let shift = self.shift::<FAST>();
        let mut thin = bids;
        while several != 0 {
            let lane = self.lane::<FAST>() << (several.trailing_zeros() >> shift << shift);
            several &= !lane;
            let i = if A::POSITIONAL {
                self.pick_by_position::<FAST>(r, bids & lane, k)
            } else {
                self.pick_channel::<FAST>(r << 6, 0, bids & lane, k)
            };
            thin = thin & !lane | 1 << i;
        }
        thin
    }

    /// Of several bids of one port, the one that an arbiter picks which looks at positions only: first its output,
    /// then one of the virtual channels that go there.
    #[inline(always)]
    fn pick_by_position<const FAST: bool>(&mut self, r: usize, bids: u64, k: usize) -> usize {
        let shift = self.shift::<FAST>();
        let base = bids.trailing_zeros() >> shift << shift;
        let (mut wanted, mut rest) = (0u64, bids);
        while rest != 0 {
            wanted |= 1 << self.vcs[r << 6 | rest.trailing_zeros() as usize].out;
            rest &= rest - 1;
        }
        let port = &self.channels[(r << 6 | base as usize) >> shift];
        let who = |_| self.contender::<FAST>(r << 6 | base as usize);
        let out = self.arbiter.pick(&port.by_output[k], wanted, 0, who) as usize;
        let there = self.outputs[self.output_index::<FAST>(r << 6, out)].want & bids;
        (base + self.arbiter.pick(&port.by_vc, there >> base, 0, who)) as usize
    }

    /// Step three: the input that output `out` picks of `bids`, one a port. Both pointers move.
    #[inline(always)]
    fn pick_input<const FAST: bool>(&mut self, r: usize, out: usize, output: usize, bids: u64, k: usize) -> usize {
        let shift = self.shift::<FAST>();
        let i = if bids & (bids - 1) == 0 {
            bids.trailing_zeros()
        } else {
            let state = &self.channels[output].by_input[k];
            self.arbiter.pick(state, bids, shift, |bit| self.contender::<FAST>(r << 6 | bit as usize))
        };
        self.arbiter.won(&mut self.channels[output].by_input[k], i >> shift);
        self.arbiter.won(&mut self.channels[(r << 6 | i as usize) >> shift].by_output[k], out as u32);
        i as usize
    }

    /// Virtual-channel allocation of output `out` among the heads `waiting`. Gives those that also bid for the switch.
    #[inline(always)]
    fn bid_for<const FAST: bool>(&mut self, r: usize, out: usize, output: usize, waiting: u64, won: &mut usize) -> u64 {
        let channel = &self.channels[output];
        let (free, credit) = (channel.free, channel.credit);
        if free == 0 {
            return 0;
        }
        if waiting & (waiting - 1) != 0 {
            return self.bid_for_several::<FAST>(r, out, output, waiting, won);
        }
        let i = waiting.trailing_zeros();
        let state = &self.vcs[r << 6 | i as usize];
        let usable = if FAST { free } else { free & state.mask };
        if usable == 0 {
            return 0;
        }
        let v = next_in_turn(usable, self.bid_start::<FAST>(state.bid_from, out));
        self.note_won::<FAST>(r, i, out, output, v, won);
        if usable & credit != 0 { waiting } else { 0 }
    }

    /// The same where several heads bid.
    #[inline(never)]
    fn bid_for_several<const FAST: bool>(
        &mut self,
        r: usize,
        out: usize,
        output: usize,
        waiting: u64,
        won: &mut usize,
    ) -> u64 {
        let shift = self.shift::<FAST>();
        let (free, credit) = (self.channels[output].free, self.channels[output].credit);
        let (mut speculative, mut wanted, mut rest) = (0u64, 0u64, waiting);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let state = &self.vcs[r << 6 | bit as usize];
            let usable = if FAST { free } else { free & state.mask };
            if usable == 0 {
                continue;
            }
            speculative |= u64::from(usable & credit != 0) << bit;
            let v = next_in_turn(usable, self.bid_start::<FAST>(state.bid_from, out));
            let rivals = if wanted >> v & 1 == 1 { self.scratch.bidders[v & 63] } else { 0 };
            self.scratch.bidders[v & 63] = rivals | 1 << bit;
            wanted |= 1 << v;
        }
        while wanted != 0 {
            let v = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let bidders = self.scratch.bidders[v & 63];
            let bit = if bidders & (bidders - 1) == 0 {
                bidders.trailing_zeros()
            } else {
                let state = &self.vcs[output << shift | v].arbiter;
                self.arbiter.pick(state, bidders, 0, |bit| self.contender::<FAST>(r << 6 | bit as usize))
            };
            self.note_won::<FAST>(r, bit, out, output, v, won);
        }
        speculative
    }

    /// Input `i` wins virtual channel `v` of output `out`: pointers move, and it waits no more.
    #[inline(always)]
    fn note_won<const FAST: bool>(&mut self, r: usize, i: u32, out: usize, output: usize, v: usize, won: &mut usize) {
        let shift = self.shift::<FAST>();
        self.arbiter.won(&mut self.vcs[output << shift | v].arbiter, i);
        self.vcs[r << 6 | i as usize].bid_from = ((out << shift) + v + 1) as u16;
        self.wait[r] &= !(1 << i);
        self.scratch.won[*won & 63] = Won { input: i as u8, v: v as u8, output: output as u32 };
        *won += 1;
    }
}
