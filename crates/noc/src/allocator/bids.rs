//! What an allocator is given, and what it gives.

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
    /// Outputs with a bid.
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
