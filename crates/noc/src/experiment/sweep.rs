//! Sweeps of latency against load, and the search for the saturation load by bisection.

use super::result::RunResult;
use super::run::Experiment;
use crate::error::NocError;
use serde::Serialize;

/// One load of a sweep with its result.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Offered load in packets per node per cycle.
    pub rate: f64,
    /// Result of the run at this load.
    pub result: RunResult,
}

impl Experiment {
    /// Returns the same experiment with every flow's rate scaled so that the rates sum to `rate`.
    /// If all rates are 0, each flow gets an equal part of `rate`.
    pub fn at_rate(&self, rate: f64) -> Experiment {
        let mut scaled = self.clone();
        let sum: f64 = self.traffic.iter().map(|f| f.rate).sum();
        let flows = self.traffic.len() as f64;
        for flow in &mut scaled.traffic {
            flow.rate = if sum > 0.0 { flow.rate * rate / sum } else { rate / flows };
        }
        scaled
    }
}

/// Finds by bisection the load at which the mean packet latency reaches three times its value at
/// the smallest load measured (`precision`, but at least 0.0001), to within `precision` packets per
/// node per cycle. Calls `done` with each point. Returns `None` if the latency stays below that
/// even at one packet per node per cycle.
pub fn bisect_saturation(
    experiment: &Experiment,
    precision: f64,
    done: &mut dyn FnMut(&Point),
) -> Result<Option<f64>, NocError> {
    let mut at = |rate: f64| -> Result<Point, NocError> {
        let point = Point { rate, result: experiment.at_rate(rate).run()? };
        done(&point);
        Ok(point)
    };
    let base = at(precision.max(1e-4))?;
    let limit = 3.0 * base.result.packet_latency.mean;
    let above = |p: &Point| p.result.saturated || p.result.packet_latency.mean >= limit;
    let (mut low, mut high) = (base, at(1.0)?);
    if !above(&high) {
        return Ok(None);
    }
    while high.rate - low.rate > precision {
        let middle = at((low.rate + high.rate) / 2.0)?;
        if above(&middle) { high = middle } else { low = middle }
    }
    // Interpolates between two finite latencies; next to a saturated point there is nothing to
    // interpolate.
    if high.result.saturated {
        return Ok(Some((low.rate + high.rate) / 2.0));
    }
    let (l, h) = (low.result.packet_latency.mean, high.result.packet_latency.mean);
    Ok(Some(low.rate + (high.rate - low.rate) * (limit - l) / (h - l)))
}
