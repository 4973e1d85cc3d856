//! Switch allocators: who crosses the switch in a cycle. One file each.
//!
//! The separable input-first allocator of the reference is fused into the router's step
//! (`network/switch.rs`), where it meets the bids as they are found. The others see a matrix of bids a router
//! ([`Bids`]) and fill a matching.

mod islip;
mod output_first;
mod wavefront;

use crate::error::{NocError, lookup};
use serde::{Deserialize, Serialize};

/// The registry: every switch allocator that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocatorKind {
    /// Separable input-first in the three steps of the reference.
    InputFirst,
    /// Separable output-first: each output picks an input, then each input picks one of its grants.
    OutputFirst,
    /// iSLIP with three iterations (McKeown 1999).
    Islip,
    /// Wavefront: diagonals of the request matrix, the first one in turn (Tamir and Chi 1993).
    Wavefront,
}

/// Names of all allocators, for the command line.
pub const ALLOCATORS: [(&str, AllocatorKind); 4] = [
    ("input-first", AllocatorKind::InputFirst),
    ("output-first", AllocatorKind::OutputFirst),
    ("islip", AllocatorKind::Islip),
    ("wavefront", AllocatorKind::Wavefront),
];

impl std::str::FromStr for AllocatorKind {
    type Err = NocError;

    fn from_str(name: &str) -> Result<AllocatorKind, NocError> {
        lookup("allocator", name, &ALLOCATORS)
    }
}

/// The bids of one router in one cycle, port by port. At most one virtual channel bids for a pair of ports: the
/// first of the three steps has chosen it.
#[derive(Clone, Debug)]
pub(crate) struct Bids {
    /// Inputs that bid.
    pub(crate) inputs: u64,
    /// Outputs that each input bids for.
    pub(crate) outputs: [u64; 64],
    /// Inputs that bid for each output.
    pub(crate) by_output: [u64; 64],
    /// Outputs that somebody bids for.
    pub(crate) wanted: u64,
}

impl Default for Bids {
    fn default() -> Bids {
        Bids { inputs: 0, outputs: [0; 64], by_output: [0; 64], wanted: 0 }
    }
}

impl Bids {
    pub(crate) fn clear(&mut self) {
        for i in bits(self.inputs) {
            self.outputs[i] = 0;
        }
        for o in bits(self.wanted) {
            self.by_output[o] = 0;
        }
        (self.inputs, self.wanted) = (0, 0);
    }

    pub(crate) fn add(&mut self, input: usize, output: usize) {
        self.inputs |= 1 << input;
        self.outputs[input] |= 1 << output;
        self.by_output[output] |= 1 << input;
        self.wanted |= 1 << output;
    }
}

/// A matching: the input of each matched output.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    /// Outputs that are matched.
    pub(crate) outputs: u64,
    /// Inputs that are matched.
    pub(crate) inputs: u64,
    /// Input of each matched output.
    pub(crate) input_of: [u8; 64],
}

impl Default for Matching {
    fn default() -> Matching {
        Matching { outputs: 0, inputs: 0, input_of: [0; 64] }
    }
}

impl Matching {
    pub(crate) fn join(&mut self, input: usize, output: usize) {
        self.outputs |= 1 << output;
        self.inputs |= 1 << input;
        self.input_of[output] = input as u8;
    }
}

/// The numbers of the bits that are set, lowest first.
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

pub(crate) use {islip::Islip, output_first::output_first, wavefront::Wavefront};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const PORTS: usize = 8;

    /// Packets a port a cycle of a switch with virtual output queues that uniform arrivals keep full.
    fn throughput(mut matching: impl FnMut(&Bids) -> Matching) -> f64 {
        let mut queues = [[0u32; PORTS]; PORTS];
        let mut rng = Rng::new(1, 2, 3);
        let (mut moved, cycles) = (0u32, 20_000);
        for cycle in 0..cycles + 1000 {
            for queue in &mut queues {
                queue[rng.below(PORTS as u64) as usize] += 1;
            }
            let mut bids = Bids::default();
            for (input, queue) in queues.iter().enumerate() {
                (0..PORTS).filter(|o| queue[*o] > 0).for_each(|o| bids.add(input, o));
            }
            let m = matching(&bids);
            assert_eq!(m.outputs.count_ones(), m.inputs.count_ones(), "one input an output");
            for output in bits(m.outputs) {
                let input = usize::from(m.input_of[output]);
                assert!(queues[input][output] > 0, "only what was bid for");
                queues[input][output] -= 1;
                moved += u32::from(cycle >= 1000);
            }
        }
        f64::from(moved) / f64::from(cycles) / PORTS as f64
    }

    #[test]
    fn islip_on_virtual_output_queues_nears_one() {
        let mut islip = Islip::default();
        let got = throughput(|b| islip.matching(b));
        assert!(got > 0.98, "{got}");
    }

    #[test]
    fn wavefront_matches_maximally() {
        let mut wavefront = Wavefront::default();
        let got = throughput(|b| {
            let m = wavefront.matching(b, PORTS);
            for input in bits(b.inputs & !m.inputs) {
                assert_eq!(b.outputs[input] & !m.outputs, 0, "a free input finds no free output");
            }
            m
        });
        assert!(got > 0.97, "{got}");
    }

    #[test]
    fn output_first_loses_grants_where_outputs_agree() {
        // All outputs prefer the lowest input, all inputs the lowest output: one pair a cycle, whoever bids.
        let mut bids = Bids::default();
        (0..4).for_each(|i| (0..4).for_each(|o| bids.add(i, o)));
        let m = output_first(&bids, |_, a, b| a < b, |_, a, b| a < b);
        assert_eq!((m.outputs, m.inputs, m.input_of[0]), (1, 1, 0));
    }
}
