//! A heat map: a value for each pair of row and column, as a colour. Rows and columns are numbered
//! from 0, and there are as many columns as rows.

use crate::{escape, number};
use std::fmt::Write;

/// The heat map. A pair without a value stays empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    pub title: String,
    /// The label of the values, with the unit.
    pub what: String,
    pub rows: Vec<Vec<Option<f64>>>,
}

impl Matrix {
    /// The heat map as SVG, with the legend of its colours above.
    pub fn svg(&self) -> String {
        let values = || self.rows.iter().flatten().flatten().copied();
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        let n = self.rows.len().max(1);
        let cell = (800.0 / n as f64).min(40.0);
        let (left, top) = (36.0, 24.0);
        let mut svg = String::new();
        let every = (28.0 / cell).ceil() as usize;
        for (y, row) in self.rows.iter().enumerate() {
            if y % every == 0 {
                let middle = (y as f64 + 0.5) * cell;
                let _ = write!(svg, "<text x={} y={:.1} text-anchor=end>{y}</text>", left - 6.0, top + middle + 4.0);
                let _ = write!(svg, "<text x={:.1} y={} text-anchor=middle>{y}</text>", left + middle, top - 8.0);
            }
            for (x, value) in row.iter().enumerate() {
                let Some(value) = value else { continue };
                let share = if high > low { (value - low) / (high - low) } else { 0.0 };
                let _ = write!(
                    svg,
                    "<rect x={:.1} y={:.1} width={cell:.2} height={cell:.2} \
                     style=\"fill:color-mix(in oklab,var(--high) {:.0}%,var(--low))\"><title>{y} and {x}: {}</title></rect>",
                    left + x as f64 * cell,
                    top + y as f64 * cell,
                    100.0 * share,
                    number(*value)
                );
            }
        }
        let (width, height) = (left + n as f64 * cell + 8.0, top + n as f64 * cell + 8.0);
        format!(
            "<p>{}: {} <span style=\"display:inline-block;width:12em;height:1em;vertical-align:middle;\
             background:linear-gradient(to right in oklab,var(--low),var(--high))\"></span> {}</p>\
             <svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" role=img \
             aria-label=\"{}\">{svg}</svg>",
            escape(&self.what),
            number(low),
            number(high),
            escape(&self.title)
        )
    }
}
