//! Separable output-first: each output picks one of the inputs that bid for it, then each input
//! picks one of the outputs that picked it. When several outputs pick the same input, it can use
//! only one of them, so the other grants are lost.
//!
//! Source: Becker and Dally, "Allocator implementations for network-on-chip routers", SC 2009.

use super::bids::{Bids, Matching, bits};

/// Returns a matching of `bids`. `output_prefers(output, a, b)` says whether `output` prefers input
/// `a` to input `b`; `input_prefers(input, a, b)` says whether `input` prefers output `a` to output
/// `b`.
pub(crate) fn output_first(
    bids: &Bids,
    output_prefers: impl Fn(usize, usize, usize) -> bool,
    input_prefers: impl Fn(usize, usize, usize) -> bool,
) -> Matching {
    let mut offers = [0u64; 64];
    let mut offered = 0u64;
    for output in bits(bids.wanted) {
        let best = bits(bids.by_output[output]).reduce(|a, b| if output_prefers(output, b, a) { b } else { a });
        if let Some(input) = best {
            offers[input] |= 1 << output;
            offered |= 1 << input;
        }
    }
    let mut matching = Matching::default();
    for input in bits(offered) {
        let best = bits(offers[input]).reduce(|a, b| if input_prefers(input, b, a) { b } else { a });
        if let Some(output) = best {
            matching.join(input, output);
        }
    }
    matching
}
