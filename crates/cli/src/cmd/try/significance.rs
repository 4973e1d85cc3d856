//! Whether one of two programs is faster, from paired runs. Each round runs both, so that changes
//! on the machine affect both alike.
//!
//! Each pair contributes the logarithm of its ratio of times. The estimate is that of Hodges and
//! Lehmann: the median of the means of all pairs of these logarithms. Its interval comes from the
//! exact distribution of Wilcoxon's signed ranks. Neither assumes a distribution of the noise, and
//! there is nothing random in the calculation: the same times give the same answer.
//!
//! Looking again and again until something is significant would find something in pure noise. So
//! there are looks only at fixed numbers of pairs ([`looks`]), and the k-th look may use 2⁻ᵏ of the
//! risk of 5%, divided evenly among the candidates.

/// The largest probability that any interval of one run of `try` misses the truth.
pub(super) const RISK: f64 = 0.05;

/// The numbers of pairs at which there is a look; each is one and a half times the previous one.
pub(super) fn looks() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(8usize), |n| Some(n + n / 2))
}

/// The relative saving of the second program of a pair: 0.08 is 8% faster, −0.5 takes half as long
/// again.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Faster {
    /// The best estimate.
    pub(super) estimate: f64,
    /// The lower end of the interval.
    pub(super) low: f64,
    /// The upper end of the interval.
    pub(super) high: f64,
}

/// The result of these pairs at this risk; `None` if there are too few pairs for any interval.
/// Times must have the same unit and be above 0.
pub(super) fn faster(first: &[u64], second: &[u64], risk: f64) -> Option<Faster> {
    let ratios: Vec<f64> =
        first.iter().zip(second).map(|(a, b)| ((*b).max(1) as f64 / (*a).max(1) as f64).ln()).collect();
    let n = ratios.len();
    let mut means: Vec<f64> =
        (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(|(i, j)| (ratios[i] + ratios[j]) / 2.0).collect();
    means.sort_by(f64::total_cmp);
    let cut = cut(n, risk)?;
    let share = |log: f64| 1.0 - log.exp();
    let middle = means.len() / 2;
    let median = if means.len() % 2 == 1 { means[middle] } else { (means[middle - 1] + means[middle]) / 2.0 };
    Some(Faster { estimate: share(median), low: share(means[means.len() - 1 - cut]), high: share(means[cut]) })
}

/// How many of the sorted means are cut off at each end: the most whose probability is at most half
/// the risk.
fn cut(n: usize, risk: f64) -> Option<usize> {
    // The share of the 2ⁿ choices of signs whose positive ranks sum to s.
    let all = n * (n + 1) / 2;
    let mut sums = vec![0.0; all + 1];
    sums[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=all).rev() {
            let with = if sum >= rank { sums[sum - rank] } else { 0.0 };
            sums[sum] = (sums[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let mut cut = None;
    for (sum, share) in sums.iter().enumerate().take(all / 2) {
        below += share;
        if below > risk / 2.0 {
            break;
        }
        cut = Some(sum);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_wilcoxons() {
        // From tables: at 5% on both sides the rank sum may be 0 of 6 pairs, 3 of 8, 8 of 10, 52 of
        // 20.
        assert_eq!([5, 6, 8, 10, 20].map(|n| cut(n, 0.05)), [None, Some(0), Some(3), Some(8), Some(52)]);
    }

    #[test]
    fn a_clear_difference_is_found_and_noise_is_none() {
        let noise = [1.00, 1.02, 0.99, 1.01, 0.98, 1.03, 1.00, 0.97, 1.02, 0.99, 1.01, 1.00].map(|x| (x * 1e6) as u64);
        let mut other = noise;
        other.rotate_left(5);
        let same = faster(&noise, &other, 0.05).unwrap();
        assert!(same.low < 0.0 && same.high > 0.0, "{same:?}");
        let quick = other.map(|t| t * 92 / 100);
        let found = faster(&noise, &quick, 0.05).unwrap();
        assert!(found.low > 0.05 && found.high < 0.11 && (found.estimate - 0.08).abs() < 0.02, "{found:?}");
        // One outlier in the times of each program changes little.
        let (mut a, mut b) = (noise, quick);
        (a[3], b[7]) = (90_000_000, 90_000_000);
        assert!(faster(&a, &b, 0.05).unwrap().low > 0.0);
        assert_eq!(faster(&noise[..4], &quick[..4], 0.05), None, "too few pairs");
    }

    #[test]
    fn the_interval_holds_what_it_promises() {
        // Pairs of pure noise, from a fixed generator: intervals at 5% miss zero in about 5% of the
        // cases, and never in many more.
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1_000_000 + (state >> 33) % 100_000
        };
        let missed = (0..1000).filter(|_| {
            let (a, b): (Vec<u64>, Vec<u64>) = (0..12).map(|_| (random(), random())).unzip();
            let found = faster(&a, &b, 0.05).unwrap();
            found.low > 0.0 || found.high < 0.0
        });
        let missed = missed.count();
        assert!((20..=70).contains(&missed), "{missed} of 1000");
    }

    #[test]
    fn looks_grow() {
        assert_eq!(looks().take(5).collect::<Vec<_>>(), [8, 12, 18, 27, 40]);
    }
}
