//! Percentiles of short times.

use serde::Serialize;

/// Times up to this many microseconds are told apart.
const FINE: usize = 65_536;

/// Counts times by microseconds.
pub(crate) struct Times {
    counts: Vec<u32>,
    more: u64,
    most: u64,
}

/// Percentiles in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    pub samples: u64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub most_us: u64,
}

impl Times {
    pub(crate) fn new() -> Times {
        Times { counts: vec![0; FINE], more: 0, most: 0 }
    }

    pub(crate) fn add(&mut self, ns: u64) {
        let us = ns / 1_000;
        self.most = self.most.max(us);
        match self.counts.get_mut(us as usize) {
            Some(count) => *count = count.saturating_add(1),
            None => self.more += 1,
        }
    }

    /// The percentiles; `None` if there is no time. A percentile above 65 ms is told as the longest
    /// time.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        let samples = self.counts.iter().map(|&count| u64::from(count)).sum::<u64>() + self.more;
        let at = |percent: u64| {
            let rank = (samples * percent).div_ceil(100).max(1);
            let mut below = 0;
            let found = self.counts.iter().position(|&count| {
                below += u64::from(count);
                below >= rank
            });
            found.map_or(self.most, |us| us as u64)
        };
        (samples > 0).then(|| Percentiles {
            samples,
            p50_us: at(50),
            p90_us: at(90),
            p99_us: at(99),
            most_us: self.most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks() {
        let mut times = Times::new();
        assert_eq!(times.percentiles(), None);
        (1..=100).for_each(|us| times.add(us * 1_000 + 7));
        let right = Percentiles { samples: 100, p50_us: 50, p90_us: 90, p99_us: 99, most_us: 100 };
        assert_eq!(times.percentiles(), Some(right));
        (0..900).for_each(|_| times.add(1_000_000_000));
        let far = times.percentiles().unwrap();
        assert_eq!((far.p50_us, far.most_us), (1_000_000, 1_000_000));
    }
}
