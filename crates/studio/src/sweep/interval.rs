//! How sure a mean is: half of its 95% interval, as a share of the mean.

/// The 97.5% quantile of Student's distribution with 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5% quantile with this many degrees of freedom; above 30 by the first term of the
/// expansion of Cornish and Fisher.
fn student(degrees: usize) -> f64 {
    const NORMAL: f64 = 1.959_964;
    match STUDENT.get(degrees.saturating_sub(1)) {
        Some(quantile) => *quantile,
        None => NORMAL + (NORMAL.powi(3) + NORMAL) / (4.0 * degrees as f64),
    }
}

/// Half of the 95% interval of the mean, as a share of the mean; `None` for fewer than two values,
/// and for a mean of 0 of values that differ.
pub(super) fn half_width(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student(values.len() - 1) * (variance / n).sqrt();
    let share = if half == 0.0 { 0.0 } else { half / mean.abs() };
    share.is_finite().then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // Mean 10, standard deviation 1: 2.776 / sqrt(5) of 10.
        let values = [9.0, 9.0, 10.0, 11.0, 11.0];
        assert!((half_width(&values).unwrap() - 0.2776 / 5_f64.sqrt()).abs() < 1e-9);
        assert_eq!(half_width(&[3.0, 3.0]), Some(0.0));
        assert_eq!(half_width(&[0.0, 0.0]), Some(0.0));
        assert_eq!((half_width(&[3.0]), half_width(&[-1.0, 1.0])), (None, None));
        // Tables of the distribution: 2.021 with 40 degrees of freedom, 1.984 with 100.
        assert!((student(40) - 2.021).abs() < 2e-3 && (student(100) - 1.984).abs() < 2e-3);
    }
}
