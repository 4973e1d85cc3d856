//! The scale of a kernel.

/// The size of a kernel's input, the size of the pieces in which threads take it, and the number of
/// rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelScale {
    /// The size of the input.
    pub size: u32,
    /// The size of a piece; 1 for kernels without a grain.
    pub grain: u32,
    /// The number of rounds; 1 for kernels without rounds.
    pub rounds: u32,
    /// Seed of the input. With 1 the random numbers of all kernels but `search` are those of the
    /// NAS benchmarks.
    pub seed: u64,
}
