//! An axis: maps values to positions in a picture, and says where the ticks are.

use crate::short;

/// Maps values to positions. The scale is logarithmic if all values are positive and span more than
/// a factor of 30.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that fits `values`, drawn from position `from` to position `to`. With `at_zero` a
    /// linear axis includes 0, and a logarithmic one begins at a power of ten.
    pub fn new(values: &[f64], from: f64, to: f64, at_zero: bool) -> Axis {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log = least > 0.0 && most / least > 30.0;
        let (low, high) = match (log, at_zero) {
            (true, true) => (10f64.powf(least.log10().floor()), most * 1.1),
            (true, false) => (least, most),
            (false, _) => return Axis::linear(values, from, to, at_zero),
        };
        Axis { low, high, log, from, to }
    }

    /// Like [`Axis::new`](Self::new), but always linear.
    pub fn linear(values: &[f64], from: f64, to: f64, at_zero: bool) -> Axis {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = match (at_zero, least.is_finite()) {
            (_, false) => (0.0, 1.0),
            (true, true) => (least.min(0.0) * 1.05, most.max(0.0) * 1.05),
            (false, true) => (least, most),
        };
        let high = if high > low { high } else { low + 1.0 };
        Axis { low, high, log: false, from, to }
    }

    /// The position of `value`.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Grid lines of a horizontal axis: a vertical line from `top` to `bottom` at each tick, with
    /// the tick's value below. The line at 0 has a class of its own.
    pub(crate) fn grid(&self, top: f64, bottom: f64) -> String {
        let line = |tick: f64| {
            let (at, class) = (self.at(tick), if tick == 0.0 { "zero" } else { "grid" });
            format!(
                "<line class={class} x1={at:.1} x2={at:.1} y1={top} y2={bottom} />\
                 <text class=dim x={at:.1} y={} text-anchor=middle>{}</text>",
                bottom + 15.0,
                short(tick)
            )
        };
        self.ticks().into_iter().map(line).collect()
    }

    /// Round values that lie on the axis: three to seven on a linear axis. A logarithmic axis has
    /// the powers of ten, with 2 and 5 times each of them if it spans few decades.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let steps: &[f64] = if decades.clone().count() > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            return all.filter(|v| (self.low..=self.high).contains(v)).collect();
        }
        let raw = (self.high - self.low) / 6.0;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(raw);
        let first = (self.low / step).ceil();
        (0..).map(|i| (first + f64::from(i)) * step).take_while(|v| *v <= self.high + step * 1e-6).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_on_it_and_ticks_are_round() {
        let axis = Axis::new(&[0.0, 61.8], 100.0, 900.0, true);
        assert_eq!((axis.at(0.0), axis.at(61.8 * 1.05)), (100.0, 900.0));
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0]);
        let both = Axis::new(&[-20.0, 40.0], 0.0, 1.0, true);
        assert_eq!(both.ticks(), [-20.0, 0.0, 20.0, 40.0]);
        let wide = Axis::new(&[1.0, 1000.0], 0.0, 1.0, false);
        assert_eq!((wide.at(1.0), wide.at(1000.0)), (0.0, 1.0));
        assert_eq!(wide.ticks().len(), 10);
        // An axis exists even for no value, or for one.
        assert!(
            Axis::new(&[], 0.0, 1.0, true).at(0.5).is_finite() && !Axis::new(&[], 0.0, 1.0, true).ticks().is_empty()
        );
        assert!(Axis::new(&[7.0], 0.0, 1.0, false).at(7.0).is_finite());
    }
}
