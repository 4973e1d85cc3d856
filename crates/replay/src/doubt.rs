//! The uncertainty of a prediction: the interval that should contain the time of a run without
//! recording in 95 of 100 cases.
//!
//! Seeds alone do not give it: results vary by a percent between seeds where a prediction is wrong
//! by twenty. Three more factors widen the interval. They are combined as independent errors:
//!
//! - what no check can see: a program's runs differ from day to day, and a replay that passes its
//!   check may be wrong by as much as the check permits ([`MOST_ERROR`]);
//! - the self-check's own error, as one standard deviation; if the program was also run without
//!   recording ([`Alone`]), the greater of that error and the self-check's;
//! - the effect of the lock: it is predicted and was not recorded, so it may be absent, or twice as
//!   large.
//!
//! The two factors were chosen on the five programs that were examined while the replay was
//! written. `docs/results/whatif.md` says how many measured times the interval contains, for those
//! programs and for others.

use serde::{Deserialize, Serialize};

/// The name of this machine's chip. Only on this chip does the self-check say how wrong a
/// prediction may be.
pub const THIS_HOST: &str = "this-host";

/// The greatest error of the self-check at which a prediction is trustworthy.
pub const MOST_ERROR: f64 = 0.15;

/// A figure over seeds.
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

/// The half-width of the interval, in standard deviations.
const CHECKS: f64 = 2.0;
/// A predicted time is far from the recorded lock's time if it differs by more than this factor.
const FAR: f64 = 1.5;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: u64,
    /// The upper end; `None` for a row that was cut off, whose time is a lower bound.
    pub high: Option<u64>,
}

/// Runs of the program without recording, compared with the prediction for the recorded lock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alone {
    /// The durations of the runs.
    pub measured_ns: Spread,
    /// The number of runs.
    pub runs: u32,
    /// The predicted duration.
    pub foretold_ns: u64,
    /// (foretold − measured) / measured.
    pub error: f64,
}

impl Alone {
    /// Compares runs of these durations; `None` if there are none.
    pub(crate) fn of(times: &[u64], foretold: Spread) -> Option<Alone> {
        let measured_ns = Spread::of(times.to_vec());
        if measured_ns.median == 0 || foretold.median == 0 {
            return None;
        }
        let error = foretold.median as f64 / measured_ns.median as f64 - 1.0;
        Some(Alone { measured_ns, runs: times.len() as u32, foretold_ns: foretold.median, error })
    }

    /// The reason why the comparison makes the prediction untrustworthy, if it does.
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

/// The error to use: the self-check's, or that of the comparison without recording if it is
/// greater.
pub(crate) fn worse(check: f64, alone: Option<&Alone>) -> f64 {
    let off = |error: f64| (1.0 + error).max(f64::MIN_POSITIVE).ln().abs();
    alone.map(|alone| alone.error).filter(|&error| off(error) > off(check)).unwrap_or(check)
}

/// The interval around a predicted time. `check` is the relative error of the recorded lock's
/// replay, and `speedup` is the recorded lock's time over this lock's.
pub(crate) fn interval(time: Spread, cut_off: bool, check: f64, speedup: f64) -> Interval {
    let check = CHECKS * (1.0 + check).max(f64::MIN_POSITIVE).ln();
    let effect = speedup.max(f64::MIN_POSITIVE).ln();
    let off = MOST_ERROR.hypot(check).hypot(effect).exp();
    let high = if cut_off { None } else { Some((time.high as f64 * off) as u64) };
    Interval { low: (time.low as f64 / off) as u64, high }
}

/// Whether the predicted time is so far from the recorded one that it rests on the model alone.
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
        // A slowdown by two may be absent in reality.
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
