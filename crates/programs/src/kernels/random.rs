//! The random numbers of the NAS benchmarks (Bailey and others, RNR-94-007): x' = 5^13 x mod 2^46,
//! as shares of 2^46.

use super::scale::KernelScale;

/// Cycles of a number: a multiplication of long words, a mask, and a conversion.
pub(super) const CYCLES: u64 = 5;
/// Cycles of a jump: a square and often a product for each of 46 bits.
pub(super) const JUMP_CYCLES: u64 = 46 * 5;

const FACTOR: u64 = 1_220_703_125;
const MASK: u64 = (1 << 46) - 1;

/// The seed of FT and MG.
pub(super) const SEED: u64 = 314_159_265;
/// The seed of EP.
pub(super) const EP_SEED: u64 = 271_828_183;

/// The sequence, at one of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sequence(u64);

impl Sequence {
    /// The sequence of a benchmark's seed, if the scale's seed is 1. Other seeds begin at distances
    /// of 2^30 numbers from there.
    pub(super) fn new(seed: u64, scale: KernelScale) -> Sequence {
        Sequence(seed).after(scale.seed.wrapping_sub(1).wrapping_mul(1 << 30))
    }

    /// The sequence whose state is `state`.
    pub(super) fn at(state: u64) -> Sequence {
        Sequence(state)
    }

    /// The state of the sequence.
    pub(super) fn state(self) -> u64 {
        self.0
    }

    /// The sequence `numbers` numbers later, computed by squares, not step by step.
    pub(super) fn after(self, numbers: u64) -> Sequence {
        let (mut power, mut product, mut left) = (FACTOR, self.0, numbers);
        while left > 0 {
            if left % 2 == 1 {
                product = product.wrapping_mul(power) & MASK;
            }
            power = power.wrapping_mul(power) & MASK;
            left /= 2;
        }
        Sequence(product)
    }

    /// The next number, between 0 and 1.
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(FACTOR) & MASK;
        self.0 as f64 / (1u64 << 46) as f64
    }
}
