//! Nice values and their weights, which say how much more of a CPU one thread gets than another.

use std::fmt;

/// A thread's nice value, from -20 (the most of a CPU) to 19 (the least); 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nice(i8);

/// Weight of a thread with nice value 0.
pub const ONE: u64 = 1024;

/// Weights from nice value -20 on. Each is about 1.25 times the next, so that one step moves a
/// CPU's share between two threads by about 10% (`sched_prio_to_weight` of Linux,
/// `kernel/sched/core.c`).
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, // -20 to -11
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, // -10 to -1
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, // 0 to 9
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15, // 10 to 19
];

impl Nice {
    /// What a nice value may be, for error messages.
    pub const EXPECTED: &str = "a whole number from -20 to 19";

    /// Creates the nice value with this number, if there is one.
    pub fn new(value: i64) -> Option<Nice> {
        (-20..=19).contains(&value).then_some(Nice(value as i8))
    }

    pub fn value(self) -> i8 {
        self.0
    }

    /// Returns the weight. A thread's share of its CPU is its weight divided by the sum of the
    /// weights there.
    pub fn weight(self) -> u64 {
        u64::from(WEIGHTS[(self.0 + 20) as usize])
    }

    /// Converts run time to virtual time, which equals run time for a thread with nice value 0.
    /// `left` keeps what does not make up a whole cycle, so that nothing is lost however small the
    /// pieces are in which run time is counted.
    pub fn virtual_time(self, ran: u64, left: &mut u64) -> u64 {
        let weight = u128::from(self.weight());
        let whole = u128::from(ran) * u128::from(ONE) + u128::from(*left);
        *left = (whole % weight) as u64;
        (whole / weight) as u64
    }
}

impl fmt::Display for Nice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_by_a_quarter_a_step() {
        assert_eq!(Nice::default().weight(), ONE);
        assert_eq!((Nice::new(-21), Nice::new(20)), (None, None));
        let weights: Vec<f64> = (-20..20).map(|value| Nice::new(value).unwrap().weight() as f64).collect();
        for pair in weights.windows(2) {
            let step = pair[0] / pair[1];
            assert!((1.18..1.30).contains(&step), "{pair:?}");
        }
    }

    #[test]
    fn no_cycle_is_lost_however_a_stretch_is_cut() {
        for value in [-20, -3, 0, 5, 19] {
            let nice = Nice::new(value).unwrap();
            let (mut left, mut sum) = (0, 0);
            for _ in 0..100_000 {
                sum += nice.virtual_time(1, &mut left);
            }
            assert_eq!(sum, 100_000 * ONE / nice.weight(), "nice {value}");
        }
        assert_eq!(Nice::default().virtual_time(12_345, &mut 0), 12_345);
    }
}
