//! How much a thread has had to do of late: the share of time in which it ran or wanted to, halved every 32 ms, as Linux tracks it for each
//! thread (per-entity load tracking). A CPU's load is the sum over the threads that were there last, asleep or not, each by its weight.

/// All of the time. Loads are in units of its inverse.
pub(super) const WHOLE: u64 = 1 << 31;

/// One, in the fixed point of decay factors.
const ONE: u64 = 1 << 32;
/// Two to the power of minus a thirty-second, in that fixed point.
const STEP: u64 = 0xfa83_b2db;
/// Its powers, from 0 to 32.
const POWERS: [u64; 33] = {
    let mut powers = [ONE; 33];
    let mut i = 1;
    while i < 33 {
        powers[i] = (powers[i - 1] * STEP) >> 32;
        i += 1;
    }
    powers
};

/// What is left of a load after a time, in parts of 2^32. In whole numbers, so that every host says the same.
fn left(time: u64, half: u64) -> u64 {
    let halvings = time / half.max(1);
    if halvings >= 32 {
        return 0;
    }
    // In thirty-seconds of a halving, and what is over in parts of 2^16.
    let steps = (u128::from(time % half.max(1)) << 21) / u128::from(half.max(1));
    let (at, over) = ((steps >> 16) as usize, steps as u64 & 0xffff);
    let between = POWERS[at] - (((POWERS[at] - POWERS[at + 1]) * over) >> 16);
    between >> halvings
}

/// A thread's load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    value: u64,
    since: u64,
    /// It runs, or wants to.
    wants: bool,
}

impl Load {
    /// A new thread's: as if it had always had to do.
    pub(super) const NEW: Load = Load { value: WHOLE, since: 0, wants: false };

    /// One's that has ended: Linux takes it off the CPU's.
    pub(super) const GONE: Load = Load { value: 0, since: 0, wants: false };

    /// What it is at that time.
    pub(super) fn at(&self, now: u64, half: u64) -> u64 {
        let left = left(now.saturating_sub(self.since), half);
        let to = if self.wants { WHOLE } else { 0 };
        ((self.value * left) >> 32) + ((to * (ONE - left)) >> 32)
    }

    /// From now on the thread runs or wants to, or does not.
    pub(super) fn turns(&mut self, now: u64, half: u64, wants: bool) {
        *self = Load { value: self.at(now, half), since: now, wants };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: u64 = 3_200_000;

    /// In parts of the whole.
    fn share(load: &Load, now: u64) -> f64 {
        load.at(now, HALF) as f64 / WHOLE as f64
    }

    #[test]
    fn a_load_halves_and_recovers() {
        let mut load = Load::NEW;
        load.turns(0, HALF, false);
        for (time, expected) in [(0, 1.0), (HALF, 0.5), (2 * HALF, 0.25), (HALF / 2, 0.5f64.sqrt()), (40 * HALF, 0.0)] {
            assert!((share(&load, time) - expected).abs() < 1e-3, "{time}: {}", share(&load, time));
        }
        load.turns(2 * HALF, HALF, true);
        assert!((share(&load, 3 * HALF) - 0.625).abs() < 1e-3);
    }

    #[test]
    fn who_wants_half_of_the_time_has_half_the_load() {
        let mut load = Load::NEW;
        for turn in 0..200 {
            load.turns(turn * HALF / 10, HALF, turn % 2 == 0);
        }
        assert!((share(&load, 20 * HALF) - 0.5).abs() < 0.03, "{}", share(&load, 20 * HALF));
    }

    #[test]
    fn decay_is_that_of_powers_of_two() {
        for time in (0..5 * HALF).step_by(77_777) {
            let exact = (-(time as f64) / HALF as f64).exp2();
            assert!((left(time, HALF) as f64 / ONE as f64 - exact).abs() < 1e-3, "{time}");
        }
        assert_eq!((left(0, HALF), left(u64::MAX, 1), left(7, 0)), (ONE, 0, ONE >> 7));
    }
}
