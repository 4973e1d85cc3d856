//! The uncertainty of a prediction: the interval that should contain the time of a run without
//! recording in 95 of 100 cases.
//!
//! The spread over seeds alone does not give this interval: results may vary by a percent between
//! seeds while the prediction is wrong by twenty percent. Three sources of error widen the
//! interval, and are combined as independent errors:
//!
//! - what no check can see: a program's runs differ from day to day, and a replay that passes the
//!   self-check may be wrong by as much as the check permits ([`MOST_ERROR`]);
//! - the self-check's own error, as one standard deviation; if the program was also run without
//!   recording ([`Alone`]), the greater of that error and the self-check's;
//! - the effect of the lock: it is predicted and was not measured, so it may be absent, or twice as
//!   large.
//!
//! [`MOST_ERROR`] and the factor of the self-check's error were chosen on the five programs that
//! were examined while the replay was written. `docs/results/whatif.md` says how many measured
//! times the interval contains, for those programs and for others.

use serde::{Deserialize, Serialize};

/// The name of the chip that describes the machine on which Baton runs. Only on this chip does the
/// self-check say how wrong a prediction may be.
pub const THIS_HOST: &str = "this-host";

/// The greatest error of the self-check with which a prediction still counts as trustworthy.
pub const MOST_ERROR: f64 = 0.15;

/// The spread of a figure over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    pub median: u64,
    pub low: u64,
    pub high: u64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<u64>) -> Spread {
        values.sort_unstable();
        match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => Spread { median: values[values.len() / 2], low, high },
            _ => Spread::default(),
        }
    }
}

/// The number of standard deviations of the self-check's error by which that error widens the
/// interval to either side.
const CHECKS: f64 = 2.0;
/// A predicted time counts as far from the recorded lock's time if it is more than this many times
/// as long, or as short.
const FAR: f64 = 1.5;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: u64,
    /// The upper end of the interval; `None` for a row that was cut off, because its time is only a
    /// lower bound.
    pub high: Option<u64>,
}

/// Runs of the program without recording, compared with the predicted time of the recorded lock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alone {
    /// The durations of the runs.
    pub measured_ns: Spread,
    /// The number of runs.
    pub runs: u32,
    /// The predicted duration.
    pub foretold_ns: u64,
    /// The predicted time's relative error: (foretold − measured) / measured.
    pub error: f64,
}

impl Alone {
    /// Compares the durations of runs with the predicted time; `None` if there are no runs or no
    /// prediction.
    pub(crate) fn of(times: &[u64], foretold: Spread) -> Option<Alone> {
        let measured_ns = Spread::of(times.to_vec());
        if measured_ns.median == 0 || foretold.median == 0 {
            return None;
        }
        let error = foretold.median as f64 / measured_ns.median as f64 - 1.0;
        Some(Alone { measured_ns, runs: times.len() as u32, foretold_ns: foretold.median, error })
    }

    /// Returns why the comparison makes the prediction untrustworthy; `None` if it does not.
    pub(crate) fn reason(&self) -> Option<String> {
        (self.error.abs() > MOST_ERROR).then(|| {
            format!(
                "without recording the program is foretold to take {:.1} ms and took {:.1} ms ({:+.0}%; at most {:.0}% is trusted)",
                self.foretold_ns as f64 * 1e-6,
                self.measured_ns.median as f64 * 1e-6,
                self.error * 100.0,
                MOST_ERROR * 100.0,
            )
        })
    }
}

/// Returns the self-check's error, or the error beside runs without recording if it is greater.
pub(crate) fn worse(check: f64, alone: Option<&Alone>) -> f64 {
    let off = |error: f64| (1.0 + error).max(f64::MIN_POSITIVE).ln().abs();
    alone.map(|alone| alone.error).filter(|&error| off(error) > off(check)).unwrap_or(check)
}

/// Returns the interval around a predicted time. `check` is the relative error of the recorded
/// lock's replay, and `speedup` is the recorded lock's time over this lock's.
pub(crate) fn interval(time: Spread, cut_off: bool, check: f64, speedup: f64) -> Interval {
    let check = CHECKS * (1.0 + check).max(f64::MIN_POSITIVE).ln();
    let effect = speedup.max(f64::MIN_POSITIVE).ln();
    let off = MOST_ERROR.hypot(check).hypot(effect).exp();
    let high = if cut_off { None } else { Some((time.high as f64 * off) as u64) };
    Interval { low: (time.low as f64 / off) as u64, high }
}

/// Whether the predicted time is so far from the recorded lock's that it rests on the model alone.
pub(crate) fn far(speedup: f64) -> bool {
    speedup > FAR || speedup * FAR < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Spread = Spread { median: 1000, low: 1000, high: 1000 };

    #[test]
    fn a_perfect_check_leaves_what_no_check_sees() {
        assert_eq!(interval(TIME, false, 0.0, 1.0), Interval { low: 860, high: Some(1161) });
    }

    #[test]
    fn a_bad_check_and_a_great_effect_widen_it() {
        let plain = interval(TIME, false, 0.0, 1.0);
        let (checked, changed) = (interval(TIME, false, -0.2, 1.0), interval(TIME, false, 0.0, 0.5));
        for wider in [checked, changed] {
            assert!(wider.low < plain.low && wider.high > plain.high, "{wider:?}");
        }
        // The lock is predicted to double the time of 500 to 1000. This effect may be absent, so
        // the interval must reach down to 500.
        assert!(changed.low <= 500, "{changed:?}");
        assert_eq!(interval(TIME, true, 0.0, 0.1).high, None);
    }

    #[test]
    fn a_run_without_recording_counts_where_it_is_farther_off_than_the_self_check() {
        let alone = Alone::of(&[900, 800, 700], TIME).unwrap();
        assert_eq!((alone.measured_ns.median, alone.runs, alone.error), (800, 3, 0.25));
        assert_eq!(worse(0.1, Some(&alone)), 0.25);
        assert_eq!(worse(-0.4, Some(&alone)), -0.4);
        assert_eq!(worse(0.1, None), 0.1);
        assert!(alone.reason().unwrap().contains("+25%"));
        assert_eq!(Alone::of(&[1000], TIME).unwrap().reason(), None);
        assert_eq!(Alone::of(&[], TIME), None);
    }

    #[test]
    fn far_is_half_as_slow_again_or_as_fast() {
        assert_eq!([0.6, 0.7, 1.0, 1.4, 1.6].map(far), [true, false, false, false, true]);
    }
}
