//! Times between the accesses of a thread, the same in every run.

use baton_machine::units::Cycles;

/// Marsaglia's xorshift64; the state is not 0.
pub fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Think times around `mean`: uniform within `spread` of the mean (0.5: from half to one and a
/// half). Each thread has its own generator, so that the times are the same in every run.
pub struct Think {
    mean: u64,
    spread: f64,
    state: u64,
}

impl Think {
    /// The think times of the thread with the number `thread`.
    pub fn new(mean: Cycles, spread: f64, thread: u64) -> Think {
        Think { mean: mean.0, spread, state: (thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// Draws the next think time.
    pub fn draw(&mut self) -> Cycles {
        if self.spread == 0.0 {
            return Cycles(self.mean);
        }
        let unit = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.mean as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }
}
