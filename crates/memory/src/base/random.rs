//! The one seeded generator, split by purpose, so that drawing for one thing does not shift another.

/// The purpose for which numbers are drawn.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Noise on latencies.
    Latency = 1,
    /// When threads start.
    Start = 2,
    /// Monitored waits that end for no reason.
    Spurious = 3,
    /// Lengths of the wake-ups of idle CPUs.
    Wake = 4,
    /// When applications come.
    Arrival = 5,
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, purpose: Purpose) -> Random {
        let mut random = Random(seed ^ (purpose as u64).wrapping_mul(0xd134_2543_de82_ef95));
        random.draw();
        random
    }

    /// The next number.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }
}
