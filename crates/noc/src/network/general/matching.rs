//! Switch allocation by the allocators in `allocator/`: turns the bids into a matrix of ports, lets
//! the allocator match it, and turns the matching into the winners of the outputs.

use super::super::wiring::RouterPorts;
use super::cycle::Cycle;
use super::switch::Pass;
use crate::allocator::{AllocatorKind, Bids, Matching, bits, output_first};
use crate::arbiter::Arbiter;

impl<A: Arbiter> Cycle<'_, A> {
    /// Matches the bids of router `r` by the configured allocator. Like
    /// [`Cycle::match_inputs_first`], returns the bit set of outputs with a winner and leaves the
    /// winners in `scratch.winner`.
    #[cold]
    pub(crate) fn match_by_matrix(&mut self, r: usize, pass: Pass) -> u64 {
        let router = self.wiring.routers[r];
        let k = pass as usize;
        let first = r << self.spec.block;
        let mut matchers = std::mem::take(&mut self.routers.matchers);
        matchers.bids.clear();
        let mut chosen = [[0u16; 64]; 64];
        for w in 0..self.spec.words {
            let set = match pass {
                Pass::Normal => self.scratch.ready[w],
                Pass::Speculative => self.scratch.speculative[w],
            };
            for bit in bits(set) {
                self.add_bid(first, w << 6 | bit, &mut matchers.bids, &mut chosen);
            }
        }
        let matching = if matchers.bids.inputs == 0 {
            Matching::default()
        } else {
            match self.spec.config.allocator {
                AllocatorKind::Islip => matchers.islip[r][k].matching(&matchers.bids),
                AllocatorKind::Wavefront => {
                    let ports = usize::from(router.in_ports.max(router.out_ports));
                    matchers.wavefront[r][k].matching(&matchers.bids, ports)
                }
                _ => self.output_first(first, &router, k, &matchers.bids, &chosen),
            }
        };
        self.routers.matchers = matchers;
        for out in bits(matching.outputs) {
            let port = usize::from(matching.input_of[out]);
            self.scratch.winner[k][out] = chosen[port][out];
            let input = (first >> self.spec.shift) + port;
            self.spec.arbiter.won(&mut self.routers.channels[input].by_output[k], out as u32);
            let output = self.wiring.outputs[router.outputs as usize + out] as usize;
            self.spec.arbiter.won(&mut self.routers.channels[output].by_input[k], port as u32);
        }
        matching.outputs
    }

    /// The first step: keeps one of several virtual channels of a port that bid for the same
    /// output.
    fn add_bid(&self, first: usize, i: usize, bids: &mut Bids, chosen: &mut [[u16; 64]; 64]) {
        let (port, out) = (i >> self.spec.shift, usize::from(self.routers.vcs[first + i].out));
        if bids.outputs[port] >> out & 1 == 1 {
            let rival = usize::from(chosen[port][out]);
            let lane = (1usize << self.spec.shift) - 1;
            let state = &self.routers.channels[(first + i) >> self.spec.shift].by_vc;
            let ours = self.spec.arbiter.key(state, (i & lane) as u32, || self.contender(first + i));
            let theirs = self.spec.arbiter.key(state, (rival & lane) as u32, || self.contender(first + rival));
            if ours >= theirs {
                return;
            }
        }
        bids.add(port, out);
        chosen[port][out] = i as u16;
    }

    fn output_first(
        &self,
        first: usize,
        router: &RouterPorts,
        k: usize,
        bids: &Bids,
        chosen: &[[u16; 64]; 64],
    ) -> Matching {
        let at_output = |out: usize, port: usize| {
            let output = self.wiring.outputs[router.outputs as usize + out] as usize;
            let state = &self.routers.channels[output].by_input[k];
            self.spec.arbiter.key(state, port as u32, || self.contender(first + usize::from(chosen[port][out])))
        };
        let at_input = |port: usize, out: usize| {
            let state = &self.routers.channels[(first >> self.spec.shift) + port].by_output[k];
            self.spec.arbiter.key(state, out as u32, || self.contender(first + usize::from(chosen[port][out])))
        };
        output_first(
            bids,
            |out, a, b| at_output(out, a) < at_output(out, b),
            |port, a, b| at_input(port, a) < at_input(port, b),
        )
    }
}
