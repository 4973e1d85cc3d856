//! iSLIP: outputs grant and inputs accept, both in round-robin order, for several iterations. A
//! pointer moves only when its grant is accepted in the first iteration; that desynchronizes the
//! pointers of different ports, which is where the throughput comes from.
//!
//! Source: McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM ToN 7(2),
//! 1999.

use super::bids::{Bids, Matching, bits};

/// The grant pointers (by output) and accept pointers (by input) of one router.
#[derive(Clone, Debug)]
pub(crate) struct Islip {
    grant: [u8; 64],
    accept: [u8; 64],
}

const ITERATIONS: usize = 3;

impl Default for Islip {
    fn default() -> Islip {
        Islip { grant: [0; 64], accept: [0; 64] }
    }
}

/// Returns the first member of `set` at or after `pointer`, wrapping round to the lowest. `set`
/// must not be empty.
fn turn(set: u64, pointer: u8) -> usize {
    let after = set & (u64::MAX << (pointer & 63));
    (if after != 0 { after } else { set }).trailing_zeros() as usize
}

impl Islip {
    pub(crate) fn matching(&mut self, bids: &Bids) -> Matching {
        let mut matching = Matching::default();
        for iteration in 0..ITERATIONS {
            let mut grants = [0u64; 64];
            let mut granted = 0u64;
            for output in bits(bids.wanted & !matching.outputs) {
                let asking = bids.by_output[output] & !matching.inputs;
                if asking != 0 {
                    let input = turn(asking, self.grant[output]);
                    grants[input] |= 1 << output;
                    granted |= 1 << input;
                }
            }
            if granted == 0 {
                break;
            }
            for input in bits(granted) {
                let output = turn(grants[input], self.accept[input]);
                matching.join(input, output);
                if iteration == 0 {
                    self.grant[output] = input as u8 + 1;
                    self.accept[input] = output as u8 + 1;
                }
            }
        }
        matching
    }
}
