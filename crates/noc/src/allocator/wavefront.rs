//! Wavefront: grants the diagonals of the request matrix one after another; the first diagonal
//! moves on by one each cycle. Two cells of a diagonal never share a row or a column, and the
//! result is a maximal matching.
//!
//! Source: Tamir and Chi, "Symmetric crossbar arbiters for VLSI communication switches", IEEE TPDS
//! 4(1), 1993.

use super::bids::{Bids, Matching, bits};

/// Wavefront allocator of one router; `first` is the diagonal that is granted first in the next
/// cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wavefront {
    first: usize,
}

impl Wavefront {
    /// Returns a matching of `bids` for a switch with at most `ports` inputs and outputs, and moves
    /// the first diagonal on.
    pub(crate) fn matching(&mut self, bids: &Bids, ports: usize) -> Matching {
        let mut matching = Matching::default();
        for step in 0..ports {
            let diagonal = (self.first + step) % ports;
            for input in bits(bids.inputs & !matching.inputs) {
                let output = (diagonal + ports - input) % ports;
                if bids.outputs[input] >> output & 1 == 1 && matching.outputs >> output & 1 == 0 {
                    matching.join(input, output);
                }
            }
        }
        self.first = (self.first + 1) % ports;
        matching
    }
}
