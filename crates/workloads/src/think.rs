//! Times between the accesses of a thread, the same on every run.

use baton_machine::units::Cycles;

/// Marsaglia's xorshift64; the state is not 0.
pub fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Think time around `mean`: uniform within `spread` of it (0.5: from half to one and a half), by the thread's own
/// generator, so that it is the same on every run.
pub struct Think {
    mean: u64,
    spread: f64,
    state: u64,
}

impl Think {
    /// Think times of the thread of that number.
    pub fn new(mean: Cycles, spread: f64, thread: u64) -> Think {
        Think { mean: mean.0, spread, state: (thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// The next think time.
    pub fn draw(&mut self) -> Cycles {
        if self.spread == 0.0 {
            return Cycles(self.mean);
        }
        let unit = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.mean as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }
}
