//! The 95% interval of a mean by the method of batch means: latencies of neighbouring packets
//! depend on each other, but the means of long batches hardly do. Source: Law, "Simulation Modeling
//! and Analysis", section 9.5.3.

/// Sum and count of the values in each of a fixed number of batches.
#[derive(Clone, Debug)]
pub struct BatchMeans {
    sums: [(u64, u64); BATCHES],
}

const BATCHES: usize = 30;
/// Student's t for 29 degrees of freedom, two-sided 95%.
const T: f64 = 2.045;

impl Default for BatchMeans {
    fn default() -> BatchMeans {
        BatchMeans { sums: [(0, 0); BATCHES] }
    }
}

impl BatchMeans {
    /// Number of batches.
    pub const BATCHES: u64 = BATCHES as u64;

    /// Adds `value` to batch number `batch`; a number that is too large means the last batch.
    #[inline]
    pub fn add(&mut self, batch: usize, value: u64) {
        let (sum, n) = &mut self.sums[batch.min(BATCHES - 1)];
        *sum += value;
        *n += 1;
    }

    /// Returns half the width of the mean's 95% interval, or `None` if a batch is empty.
    pub fn half_width(&self) -> Option<f64> {
        if self.sums.iter().any(|(_, n)| *n == 0) {
            return None;
        }
        let means: Vec<f64> = self.sums.iter().map(|(s, n)| *s as f64 / *n as f64).collect();
        let mean = means.iter().sum::<f64>() / BATCHES as f64;
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
        Some(T * (variance / BATCHES as f64).sqrt())
    }
}
