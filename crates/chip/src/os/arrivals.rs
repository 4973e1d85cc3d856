//! Arrival times of programs: a Poisson process, drawn by the seed.

use crate::base::random::{Purpose, Random};
use baton_units::Cycles;

/// The arrival times of `count` programs, in order. The time from one to the next, and from 0 to
/// the first, is exponentially distributed with this mean. Each `stream` has random numbers of its
/// own.
pub fn arrivals(seed: u64, stream: u32, mean: Cycles, count: u32) -> Vec<Cycles> {
    let mut random = Random::new(seed ^ u64::from(stream) << 32, Purpose::Arrival);
    let mut now = 0u64;
    let next = |_| {
        now = now.saturating_add(exponential(&mut random, mean.0));
        Cycles(now)
    };
    (0..count).map(next).collect()
}

/// An exponentially distributed time with this mean. It is computed with whole numbers alone, so it
/// is the same on every machine. Von Neumann's method: a falling sequence of random numbers that
/// begins with x has odd length with probability e^-x. Each sequence of even length adds 1 to the
/// result, in units of the mean, and the first sequence of odd length adds its x.
fn exponential(random: &mut Random, mean: u64) -> u64 {
    let mut whole = 0u64;
    loop {
        let first = random.draw();
        let (mut last, mut odd) = (first, true);
        loop {
            let next = random.draw();
            if next >= last {
                break;
            }
            (last, odd) = (next, !odd);
        }
        if odd {
            let part = ((u128::from(first) * u128::from(mean)) >> 64) as u64;
            return whole.saturating_mul(mean).saturating_add(part);
        }
        whole += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: u64 = 1_000_000;

    fn gaps(seed: u64, stream: u32, count: u32) -> Vec<u64> {
        let all = arrivals(seed, stream, Cycles(MEAN), count);
        let before = std::iter::once(0).chain(all.iter().map(|at| at.0));
        all.iter().zip(before).map(|(at, before)| at.0 - before).collect()
    }

    /// The shares of gaps longer than one, two and three means, the mean, and the second moment
    /// must be those of an exponential distribution.
    #[test]
    fn gaps_are_exponential() {
        let gaps = gaps(7, 0, 200_000);
        let n = gaps.len() as f64;
        for k in 1..=3u32 {
            let longer = gaps.iter().filter(|&&gap| gap > u64::from(k) * MEAN).count() as f64 / n;
            let expected = (-f64::from(k)).exp();
            // The tolerance is four standard deviations of a share.
            assert!((longer - expected).abs() < 4.0 * (expected / n).sqrt(), "{k}: {longer} for {expected}");
        }
        let moment = |power: i32| gaps.iter().map(|&gap| (gap as f64 / MEAN as f64).powi(power)).sum::<f64>() / n;
        assert!((moment(1) - 1.0).abs() < 0.01 && (moment(2) - 2.0).abs() < 0.05, "{} {}", moment(1), moment(2));
    }

    #[test]
    fn seeds_and_streams_have_draws_of_their_own_and_repeat() {
        assert_eq!(gaps(1, 0, 50), gaps(1, 0, 50));
        assert_eq!(gaps(1, 0, 50)[..20], gaps(1, 0, 20));
        assert!(gaps(1, 0, 50) != gaps(2, 0, 50) && gaps(1, 0, 50) != gaps(1, 1, 50));
    }

    #[test]
    fn a_mean_of_no_time_is_none() {
        assert_eq!(arrivals(1, 0, Cycles(0), 3), [Cycles(0); 3]);
        assert_eq!(arrivals(1, 0, Cycles(u64::MAX), 2).len(), 2);
    }
}
