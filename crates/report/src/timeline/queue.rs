//! The number of threads that wait for a lock over time, as the mean of each of a fixed number of
//! stretches.

use baton_units::Nanos;

/// The number of stretches: as many as a plot can show.
const STRETCHES: usize = 240;

/// The waiters of one lock.
pub(super) struct Queue {
    start: u64,
    length: u64,
    waited: Vec<u64>,
}

impl Queue {
    pub(super) fn new(start: Nanos, end: Nanos) -> Queue {
        let length = (end.0.saturating_sub(start.0)).div_ceil(STRETCHES as u64).max(1);
        Queue { start: start.0, length, waited: vec![0; STRETCHES] }
    }

    /// Adds a wait from `start` to `end`.
    pub(super) fn add(&mut self, start: Nanos, end: Nanos) {
        let (mut at, end) = (start.0.saturating_sub(self.start), end.0.saturating_sub(self.start));
        while at < end {
            let stretch = ((at / self.length) as usize).min(STRETCHES - 1);
            let border = if stretch == STRETCHES - 1 { end } else { (stretch as u64 + 1) * self.length };
            self.waited[stretch] += border.min(end) - at;
            at = border.min(end);
        }
    }

    /// The mean number of waiters in each stretch.
    pub(super) fn means(&self) -> Vec<f32> {
        let mean = |waited: &u64| (*waited as f64 / self.length as f64 * 1000.0).round() as f32 / 1000.0;
        self.waited.iter().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_counts_where_it_lies() {
        let mut queue = Queue::new(Nanos(0), Nanos(2_400));
        queue.add(Nanos(5), Nanos(25));
        queue.add(Nanos(2_390), Nanos(2_400));
        let means = queue.means();
        assert_eq!(means[..4], [0.5, 1.0, 0.5, 0.0]);
        assert_eq!(means[239], 1.0);
    }
}
