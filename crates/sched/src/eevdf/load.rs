//! How busy a thread has been: the share of time in which it ran or wanted to run, where a time 32
//! ms ago counts half, as Linux tracks it for each thread (per-entity load tracking). A CPU's load
//! is the sum over the threads that were there last, asleep or not, each multiplied by its weight.

/// Load of a thread that was busy all of the time. Loads are fractions of this.
pub(super) const WHOLE: u64 = 1 << 31;

/// The number one in the fixed-point format of decay factors.
const ONE: u64 = 1 << 32;
/// The decay factor 2^(-1/32) in the format of `ONE`.
const STEP: u64 = 0xfa83_b2db;
/// The powers of `STEP` from 0 to 32.
const POWERS: [u64; 33] = {
    let mut powers = [ONE; 33];
    let mut i = 1;
    while i < 33 {
        powers[i] = (powers[i - 1] * STEP) >> 32;
        i += 1;
    }
    powers
};

/// Returns what is left of a load after `time`, in parts of 2^32. It is computed in integers, so
/// that every host gets the same result.
fn left(time: u64, half: u64) -> u64 {
    let halvings = time / half.max(1);
    if halvings >= 32 {
        return 0;
    }
    // The time in thirty-seconds of a halving, with a remainder in parts of 2^16.
    let steps = (u128::from(time % half.max(1)) << 21) / u128::from(half.max(1));
    let (at, over) = ((steps >> 16) as usize, steps as u64 & 0xffff);
    let between = POWERS[at] - (((POWERS[at] - POWERS[at + 1]) * over) >> 16);
    between >> halvings
}

/// The load of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    value: u64,
    since: u64,
    /// Whether the thread runs or wants to run.
    wants: bool,
}

impl Load {
    /// Initial load of a new thread: fully busy.
    pub(super) const NEW: Load = Load { value: WHOLE, since: 0, wants: false };

    /// Load of a thread that has ended: Linux subtracts it from the CPU's load.
    pub(super) const GONE: Load = Load { value: 0, since: 0, wants: false };

    /// Returns the load at time `now`.
    pub(super) fn at(&self, now: u64, half: u64) -> u64 {
        let left = left(now.saturating_sub(self.since), half);
        let to = if self.wants { WHOLE } else { 0 };
        ((self.value * left) >> 32) + ((to * (ONE - left)) >> 32)
    }

    /// Records whether the thread runs or wants to run from now on.
    pub(super) fn turns(&mut self, now: u64, half: u64, wants: bool) {
        *self = Load { value: self.at(now, half), since: now, wants };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: u64 = 3_200_000;

    /// Returns the load as a fraction of `WHOLE`.
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
