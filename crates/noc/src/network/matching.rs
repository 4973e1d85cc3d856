//! Switch allocation by allocators other than the fused one: the bids become a matrix of ports, the allocator a
//! matching, and the matching the winners of the outputs.

use super::Network;
use super::state::Router;
use super::switch::Kind;
use crate::allocator::{AllocatorKind, Bids, Islip, Matching, Wavefront, bits, output_first};
use crate::arbiter::Arbiter;

/// State of these allocators, by router and kind of bid; empty for the fused one.
#[derive(Clone, Debug, Default)]
pub(super) struct Matchers {
    bids: Bids,
    islip: Vec<[Islip; 2]>,
    wavefront: Vec<[Wavefront; 2]>,
}

impl Matchers {
    pub(super) fn new(kind: AllocatorKind, routers: usize) -> Matchers {
        let count = |wanted: AllocatorKind| if wanted == kind { routers } else { 0 };
        Matchers {
            bids: Bids::default(),
            islip: vec![Default::default(); count(AllocatorKind::Islip)],
            wavefront: vec![Default::default(); count(AllocatorKind::Wavefront)],
        }
    }
}

impl<A: Arbiter> Network<A> {
    /// Matches the bids of router `r`; as [`Network::match_inputs_first`].
    #[cold]
    pub(super) fn match_by_matrix(&mut self, r: usize, kind: Kind) -> u64 {
        let router = self.routers[r];
        let k = kind as usize;
        let first = r << self.block;
        let mut matchers = std::mem::take(&mut self.matchers);
        matchers.bids.clear();
        let mut chosen = [[0u16; 64]; 64];
        for w in 0..self.words {
            let set = match kind {
                Kind::Normal => self.scratch.ready[w],
                Kind::Speculative => self.scratch.speculative[w],
            };
            for bit in bits(set) {
                self.add_bid(first, w << 6 | bit, &mut matchers.bids, &mut chosen);
            }
        }
        let matching = if matchers.bids.inputs == 0 {
            Matching::default()
        } else {
            match self.config.allocator {
                AllocatorKind::Islip => matchers.islip[r][k].matching(&matchers.bids),
                AllocatorKind::Wavefront => {
                    let ports = usize::from(router.in_ports.max(router.out_ports));
                    matchers.wavefront[r][k].matching(&matchers.bids, ports)
                }
                _ => self.output_first(first, &router, k, &matchers.bids, &chosen),
            }
        };
        self.matchers = matchers;
        for out in bits(matching.outputs) {
            let port = usize::from(matching.input_of[out]);
            self.scratch.winner[k][out] = chosen[port][out];
            let input = (first >> self.shift) + port;
            self.arbiter.won(&mut self.channels[input].by_output[k], out as u32);
            let output = self.outputs[router.outputs as usize + out] as usize;
            self.arbiter.won(&mut self.channels[output].by_input[k], port as u32);
        }
        matching.outputs
    }

    /// Step one: of several virtual channels of a port that bid for one output, one.
    fn add_bid(&self, first: usize, i: usize, bids: &mut Bids, chosen: &mut [[u16; 64]; 64]) {
        let (port, out) = (i >> self.shift, usize::from(self.vcs[first + i].out));
        if bids.outputs[port] >> out & 1 == 1 {
            let rival = usize::from(chosen[port][out]);
            let lane = (1usize << self.shift) - 1;
            let state = &self.channels[(first + i) >> self.shift].by_vc;
            let ours = self.arbiter.key(state, (i & lane) as u32, || self.contender(first + i));
            let theirs = self.arbiter.key(state, (rival & lane) as u32, || self.contender(first + rival));
            if ours >= theirs {
                return;
            }
        }
        bids.add(port, out);
        chosen[port][out] = i as u16;
    }

    fn output_first(&self, first: usize, router: &Router, k: usize, bids: &Bids, chosen: &[[u16; 64]; 64]) -> Matching {
        let at_output = |out: usize, port: usize| {
            let output = self.outputs[router.outputs as usize + out] as usize;
            let state = &self.channels[output].by_input[k];
            self.arbiter.key(state, port as u32, || self.contender(first + usize::from(chosen[port][out])))
        };
        let at_input = |port: usize, out: usize| {
            let state = &self.channels[(first >> self.shift) + port].by_output[k];
            self.arbiter.key(state, out as u32, || self.contender(first + usize::from(chosen[port][out])))
        };
        output_first(
            bids,
            |out, a, b| at_output(out, a) < at_output(out, b),
            |port, a, b| at_input(port, a) < at_input(port, b),
        )
    }
}
