//! The only random generator of this crate: SplitMix64. Streams are split by purpose, so that no
//! draw depends on the order of draws for other purposes.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

/// A stream of random 64-bit numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rng(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finalizer: a bijection in which every input bit affects every output bit.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Creates the stream for (`seed`, `purpose`, `index`). Streams of other purposes or indices
    /// are independent of it.
    pub fn new(seed: u64, purpose: u64, index: u64) -> Rng {
        Rng(mix(mix(mix(seed.wrapping_add(GOLDEN)) ^ purpose.wrapping_mul(GOLDEN)) ^ index.wrapping_mul(GOLDEN)))
    }

    /// Returns the next number of the stream.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Returns a number from 0 to `n` - 1, by multiplication; its bias is below n / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns true with probability `p / 2⁶⁴`.
    #[inline]
    pub fn chance(&mut self, p: u64) -> bool {
        self.next_u64() < p
    }
}

/// Converts a probability (0 to 1) to a threshold for [`Rng::chance`].
pub fn threshold(p: f64) -> u64 {
    if p >= 1.0 { u64::MAX } else { (p.max(0.0) * 18_446_744_073_709_551_616.0) as u64 }
}
