//! Switch allocators: each decides which inputs cross the switch in a cycle. One file per
//! allocator.
//!
//! The reference's allocator, separable input-first, is part of the router's step
//! (`network/general/switch.rs`), which decides as it finds the bids. The allocators here get the
//! bids of a router as a matrix ([`Bids`]) and return a matching.

mod bids;
mod islip;
mod output_first;
mod wavefront;

pub(crate) use bids::{Bids, Matching, bits};
pub(crate) use {islip::Islip, output_first::output_first, wavefront::Wavefront};

use crate::error::{NocError, lookup};
use serde::{Deserialize, Serialize};

/// The switch allocators that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocatorKind {
    /// Separable input-first, in the three steps of the reference: each input picks one virtual
    /// channel per output, then one output; then each output picks an input.
    InputFirst,
    /// Separable output-first: each output picks an input, then each input accepts one of the
    /// outputs that picked it.
    OutputFirst,
    /// iSLIP with three iterations (McKeown 1999).
    Islip,
    /// Wavefront: grants the diagonals of the request matrix one after another, beginning one
    /// diagonal later each cycle (Tamir and Chi 1993).
    Wavefront,
}

/// All allocators with their names in configurations and on the command line.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const PORTS: usize = 8;

    /// Measures the packets per port per cycle of a switch with virtual output queues that uniform
    /// arrivals keep full.
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
        // Every input bids for every output. All outputs pick the lowest input, which can accept
        // only one of them: the lowest.
        let mut bids = Bids::default();
        (0..4).for_each(|i| (0..4).for_each(|o| bids.add(i, o)));
        let m = output_first(&bids, |_, a, b| a < b, |_, a, b| a < b);
        assert_eq!((m.outputs, m.inputs, m.input_of[0]), (1, 1, 0));
    }
}
