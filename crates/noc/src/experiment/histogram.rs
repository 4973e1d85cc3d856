//! A histogram of latencies: exact up to 2,047 cycles, then in steps of at most 1/64 of the value.

/// Number of latencies for each value or range of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u64,
    max: u64,
}

const EXACT: u64 = 2048;
const STEPS: u64 = 64;

impl Default for Histogram {
    fn default() -> Histogram {
        // There are 64 − 11 doublings above the exact part, each with 64 steps.
        Histogram { counts: vec![0; (EXACT + 53 * STEPS) as usize], total: 0, sum: 0, max: 0 }
    }
}

fn place(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let log = u64::from(63 - value.leading_zeros());
    (EXACT + (log - 11) * STEPS + ((value >> (log - 6)) & (STEPS - 1))) as usize
}

/// Smallest value that is counted at index `place`.
fn value(place: usize) -> u64 {
    let place = place as u64;
    if place < EXACT {
        return place;
    }
    let (log, step) = ((place - EXACT) / STEPS + 11, (place - EXACT) % STEPS);
    (1 << log) + (step << (log - 6))
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.counts[if value < EXACT { value as usize } else { place(value) }] += 1;
        self.total += 1;
        self.sum += value;
        self.max = self.max.max(value);
    }

    /// Number of values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Mean of the values, 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// Largest value counted, 0 if there are none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the smallest value such that at least `share` (0 to 1) of all values are at or below
    /// it. Above 2,047 it is rounded down to its step.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (p, n) in self.counts.iter().enumerate() {
            seen += n;
            if seen >= wanted {
                return value(p).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_values_agree() {
        for v in (0..5000).chain([1 << 20, (1 << 20) + 12345, u64::MAX >> 1, u64::MAX]) {
            let low = value(place(v));
            assert!(low <= v && v - low <= v / 64, "{v} -> {low}");
        }
    }

    #[test]
    fn percentiles_of_a_ramp() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|v| h.add(v));
        assert_eq!((h.percentile(0.5), h.percentile(0.99), h.max(), h.mean()), (500, 990, 1000, 500.5));
    }
}
