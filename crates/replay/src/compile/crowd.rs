//! The number of threads that were not waiting, over time.

use crate::ops::push;

/// One sum is kept for this many changes.
const STRIDE: usize = 16;

/// The moments at which threads began or ceased to wait.
pub(crate) struct Crowd {
    threads: i64,
    times: Vec<u64>,
    changes: Vec<i8>,
    /// The sums before every [`STRIDE`]-th change.
    sums: Vec<Sum>,
    now: Sum,
}

/// The number of threads that are not waiting at a moment, and the integral of that number over
/// time up to the moment.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    integral: i128,
    last: u64,
}

impl Sum {
    fn change(&mut self, time: u64, change: i8, threads: i64) {
        self.integral += i128::from(self.count) * i128::from(time.saturating_sub(self.last));
        self.last = self.last.max(time);
        self.count = (self.count + i64::from(change)).clamp(0, threads);
    }
}

impl Crowd {
    /// Begins with no thread; `threads` is the greatest number that the count can reach.
    pub(crate) fn new(threads: usize) -> Crowd {
        let none = Sum::default();
        Crowd { threads: threads as i64, times: Vec::new(), changes: Vec::new(), sums: Vec::new(), now: none }
    }

    /// Records that from `time` on one more thread (+1) or one fewer (-1) is not waiting. Calls
    /// must come in the order of time.
    pub(crate) fn change(&mut self, time: u64, change: i8) {
        if self.times.len().is_multiple_of(STRIDE) {
            push(&mut self.sums, self.now);
        }
        push(&mut self.times, time);
        push(&mut self.changes, change);
        self.now.change(time, change, self.threads);
    }

    fn integral(&self, time: u64) -> i128 {
        let Some(at) = self.times.partition_point(|&from| from <= time).checked_sub(1) else { return 0 };
        let first = at / STRIDE * STRIDE;
        let mut sum = self.sums[at / STRIDE];
        for (&time, &change) in self.times[first..=at].iter().zip(&self.changes[first..=at]) {
            sum.change(time, change, self.threads);
        }
        sum.integral + i128::from(sum.count) * i128::from(time - self.times[at])
    }

    /// Returns the average number of threads that were not waiting between two moments.
    pub(crate) fn average(&self, from: u64, to: u64) -> f64 {
        if to <= from { 0.0 } else { (self.integral(to) - self.integral(from)) as f64 / (to - from) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_that_of_all_changes_however_many_lie_before() {
        let mut crowd = Crowd::new(2);
        for i in 0..100 {
            // The number alternates: two threads for a tick, then one thread for a tick, 1.5 on
            // average.
            crowd.change(2 * i, if i == 0 { 2 } else { 1 });
            crowd.change(2 * i + 1, -1);
        }
        assert_eq!(crowd.average(0, 200), 1.5);
        assert_eq!((crowd.average(40, 41), crowd.average(41, 42)), (2.0, 1.0));
        assert_eq!((crowd.average(199, 299), crowd.average(7, 7)), (1.0, 0.0));
        crowd.change(300, 1);
        crowd.change(300, 1);
        assert_eq!(crowd.average(300, 400), 2.0, "no more than there are threads");
    }
}
