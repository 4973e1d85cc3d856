//! The source of a candidate's parameters: strata of ranges, so that few candidates spread over the
//! whole ranges.

use super::profile::Range;
use baton_workloads::xorshift;

/// Draws from strata of ranges, each parameter's strata in an order of its own.
pub(super) struct Dice {
    stratum: u32,
    strata: u32,
    drawn: u32,
    state: u64,
}

impl Dice {
    /// Dice that draw from stratum `stratum` of `strata`.
    pub(super) fn new(stratum: u32, strata: u32, seed: u64) -> Dice {
        let state = (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ u64::from(stratum)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut state = state | 1;
        for _ in 0..8 {
            xorshift(&mut state);
        }
        Dice { stratum, strata: strata.max(1), drawn: 0, state }
    }

    /// Draws between the ends of a range, evenly on a logarithmic scale where the least value is
    /// not 0.
    pub(super) fn within(&mut self, range: Range) -> f64 {
        // The steps have no divisor in common with ten or twelve strata. The next parameter takes
        // the next step, and the ninth the first one again.
        const STEPS: [u32; 8] = [1, 7, 11, 13, 17, 19, 23, 29];
        let step = STEPS[self.drawn as usize % STEPS.len()];
        let stratum = (self.stratum * step + self.drawn) % self.strata;
        self.drawn += 1;
        let unit = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64;
        let share = (f64::from(stratum) + unit) / f64::from(self.strata);
        if range.least > 0.0 { range.least * (range.most / range.least).powf(share) } else { range.most * share }
    }
}
