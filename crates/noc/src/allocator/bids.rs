//! The input and the output of an allocator.

/// The bids of one router in one cycle, by port. An input bids at most once for an output: when
/// several virtual channels of the input want that output, the allocator's first step has already
/// chosen one.
#[derive(Clone, Debug)]
pub(crate) struct Bids {
    /// Bit set of the inputs that bid.
    pub(crate) inputs: u64,
    /// For each input, the bit set of outputs that it bids for.
    pub(crate) outputs: [u64; 64],
    /// For each output, the bit set of inputs that bid for it.
    pub(crate) by_output: [u64; 64],
    /// Bit set of the outputs that have at least one bid.
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

/// A matching of inputs with outputs.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    /// Bit set of the matched outputs.
    pub(crate) outputs: u64,
    /// Bit set of the matched inputs.
    pub(crate) inputs: u64,
    /// The input that each matched output is matched with; the entries of other outputs mean
    /// nothing.
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

/// Yields the numbers of the bits that are set in `set`, lowest first.
pub(crate) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}
