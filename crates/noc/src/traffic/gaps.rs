//! Gaps between packets of a Bernoulli process: geometric numbers, each drawn at once instead of
//! cycle by cycle.
//!
//! P(gap > k) = qᵏ. The powers are a table of 64-bit fractions that is computed and compared in
//! integers, so that every host draws the same gaps. The top byte of the random number says where
//! in the table the search begins. Beyond the end of the table the draw starts anew, because a
//! geometric gap has no memory.

use crate::rng::{Rng, threshold};

/// A geometric distribution of gaps, at least 1.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// `tail[k]` / 2⁶⁴ = P(gap > k + 1).
    tail: Vec<u64>,
    /// First index of `tail` to look at, by the top byte of the random number.
    guide: Vec<u16>,
}

const LONGEST: usize = 1024;

impl Gaps {
    /// Creates the gaps of a process that sends with probability `p` in each cycle.
    pub fn new(p: f64) -> Gaps {
        let q = u64::MAX - threshold(p);
        let mut tail = vec![];
        let mut power = u64::MAX;
        while tail.len() < LONGEST && power > 0 {
            power = ((u128::from(power) * u128::from(q)) >> 64) as u64;
            tail.push(power);
        }
        // Entry b is the number of powers that lie above every number with top byte b.
        let guide = (0..256u64).map(|b| {
            let top = b << 56 | ((1 << 56) - 1);
            tail.iter().take_while(|t| **t > top).count() as u16
        });
        Gaps { guide: guide.collect(), tail }
    }

    /// Draws the number of cycles until the next packet.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let mut gap = 1;
        loop {
            let u = rng.next_u64();
            let mut k = usize::from(self.guide[(u >> 56) as usize]);
            while let Some(t) = self.tail.get(k) {
                if u >= *t {
                    return gap + k as u64;
                }
                k += 1;
            }
            gap += self.tail.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_first_probability_are_the_bernoulli_process_own() {
        for p in [0.9, 0.4, 0.1, 0.01, 0.0007] {
            let (gaps, mut rng) = (Gaps::new(p), Rng::new(7, 1, 2));
            let n = 200_000;
            let drawn: Vec<u64> = (0..n).map(|_| gaps.draw(&mut rng)).collect();
            let mean = drawn.iter().sum::<u64>() as f64 / n as f64;
            // The standard error of the mean is sqrt(1 − p) / p / sqrt(n); the test allows five of
            // them.
            assert!((mean - 1.0 / p).abs() < 5.0 * (1.0 - p).sqrt() / p / (n as f64).sqrt() + 1e-9, "p {p}: {mean}");
            let ones = drawn.iter().filter(|g| **g == 1).count() as f64 / n as f64;
            assert!((ones - p).abs() < 5.0 * (p * (1.0 - p) / n as f64).sqrt() + 1e-9, "p {p}: {ones}");
            // The distribution has no seam at the end of the table.
            let far = drawn.iter().filter(|g| **g > 1100).count() as f64 / n as f64;
            let expected = (1.0 - p).powi(1100);
            assert!((far - expected).abs() < 5.0 * (expected / n as f64).sqrt() + 1e-4, "p {p}: {far} {expected}");
        }
    }

    #[test]
    fn certain_and_impossible_packets() {
        let mut rng = Rng::new(1, 1, 1);
        assert!((0..1000).all(|_| Gaps::new(1.0).draw(&mut rng) == 1));
    }
}
