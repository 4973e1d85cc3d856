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
