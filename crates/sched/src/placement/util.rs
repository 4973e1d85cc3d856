//! The utilisation of a thread: how much of the fastest CPU it has used recently, as a decaying
//! average (Linux: per-entity load tracking, PELT).
//!
//! While the thread runs, the average moves towards the capacity of its CPU, otherwise towards
//! zero. What happened a half-life ago counts half. The arithmetic uses integers, so that the same
//! events give the same figures on every machine.

/// 2^(-1/32), in parts of 2^32.
const STEP: u64 = 0xfa83_b2da;
/// Number of steps in a half-life.
const STEPS: u64 = 32;
/// Number of bits of fraction in an average.
const FRACTION: u32 = 20;

/// Returns what is left of a value after `time`, in parts of 2^32; between two steps it is
/// interpolated linearly.
fn left(time: u64, half_life: u64) -> u64 {
    let halves = time / half_life;
    if halves >= 32 {
        return 0;
    }
    let within = u128::from(time % half_life) * u128::from(STEPS);
    let (steps, rest) = (within / u128::from(half_life), within % u128::from(half_life));
    let at = (0..steps).fold(1u64 << 32, |left, _| (left * STEP) >> 32);
    let drop = at - ((at * STEP) >> 32);
    let between = (u128::from(drop) * rest / u128::from(half_life)) as u64;
    (at - between) >> halves
}

/// The utilisation of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Util {
    value: u64,
    /// The time at which the utilisation was `value`.
    at: u64,
    /// The capacity of the CPU on which the thread has run since `at`; 0 if it has not run.
    runs: u32,
}

impl Util {
    /// Creates the utilisation of a thread that has not run yet. `value` is a guess, in 1024ths.
    pub(super) fn new(now: u64, value: u32) -> Util {
        Util { value: u64::from(value) << FRACTION, at: now, runs: 0 }
    }

    fn value_at(&self, now: u64, half_life: u64) -> u64 {
        let towards = u64::from(self.runs) << FRACTION;
        let left = left(now - self.at, half_life);
        // The values are below 2^31 and `left` is at most 2^32, so the products fit into 64 bits.
        if self.value >= towards {
            towards + (((self.value - towards) * left) >> 32)
        } else {
            towards - (((towards - self.value) * left) >> 32)
        }
    }

    /// Returns the utilisation at time `now`, in 1024ths of the fastest CPU.
    pub(super) fn now(&self, now: u64, half_life: u64) -> u32 {
        (self.value_at(now, half_life) >> FRACTION) as u32
    }

    /// Records that the thread runs on a CPU of this capacity from now on; 0 means that it does not
    /// run.
    pub(super) fn runs(&mut self, now: u64, capacity: u32, half_life: u64) {
        (self.value, self.at, self.runs) = (self.value_at(now, half_life), now, capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: u64 = 320;

    #[test]
    fn a_half_life_halves_and_a_thread_that_runs_nears_its_capacity() {
        let mut util = Util::new(0, 1024);
        assert_eq!([0, 320, 640, 960, 3200].map(|now| util.now(now, HALF)), [1024, 512, 256, 128, 1]);
        // Without a run, the utilisation of 1024 decays for 10 of a half-life's 32 steps to 1024 *
        // 2^(-10/32) = 824.6, and half a step later to 815.7.
        assert_eq!([100, 105].map(|now| util.now(now, HALF)), [824, 815]);
        util.runs(640, 512, HALF);
        // Running on a capacity of 512, the utilisation rises from 256: after one half-life it is
        // 512 - 256 * 2^-1 = 384, after three it is 512 - 256 * 2^-3 = 480.
        assert_eq!([640, 960, 1600, 640 + 40 * 320].map(|now| util.now(now, HALF)), [256, 384, 480, 512]);
        // When the capacity changes to 1024, the utilisation goes on from 480: a half-life later it
        // is 1024 - 544 * 2^-1 = 752.
        util.runs(1600, 1024, HALF);
        assert_eq!(util.now(1920, HALF), 752);
    }

    #[test]
    fn any_time_and_half_life_are_within_the_range() {
        for half_life in [1, 31, 32, 1000, 1 << 50] {
            let mut before = 1 << 32;
            for time in [0, 1, 2, 33, 1 << 20, 1 << 49, u64::MAX] {
                let now = left(time, half_life);
                assert!(now <= before, "{now} of {time} after {before}, half life {half_life}");
                before = now;
            }
            assert_eq!((left(0, half_life), left(u64::MAX, half_life)), (1 << 32, 0));
            let exact = 1u64 << 31;
            assert!(left(half_life, half_life).abs_diff(exact) < 64);
        }
    }
}
