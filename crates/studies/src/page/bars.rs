//! Groups of bars. Values below 0 go to the other side, so that effects around 0 make a tornado.

use super::{COLOURS, escape, number};
use std::fmt::Write;

/// The picture: rows from top to bottom, in each a bar a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What stands over it.
    pub title: String,
    /// The unit of all values.
    pub unit: String,
    /// The names of the bars of a row.
    pub series: Vec<String>,
    /// A row: its name, and its bars; `None` where there is no value.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 180.0;
const RIGHT: f64 = 70.0;
const BAR: f64 = 11.0;
const TOP: f64 = 26.0;

impl Bars {
    /// As SVG.
    pub fn svg(&self) -> String {
        let row = BAR * self.series.len().max(1) as f64 + 8.0;
        let height = TOP + row * self.rows.len() as f64 + 6.0;
        let values = || self.rows.iter().flat_map(|(_, bars)| bars.iter().flatten().copied());
        let most = values().fold(0.0, f64::max);
        let least = values().fold(0.0, f64::min);
        let span = if most > least { most - least } else { 1.0 };
        let x = |value: f64| LEFT + (value - least) / span * (WIDTH - LEFT - RIGHT);
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=img>");
        let mut at = LEFT;
        for (name, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let _ = write!(
                svg,
                "<rect x={at} y=4 width=11 height=11 fill=\"{colour}\" /><text x={} y=14>{}</text>",
                at + 16.0,
                escape(name)
            );
            at += 40.0 + 7.5 * name.chars().count() as f64;
        }
        let zero = x(0.0);
        let _ = write!(svg, "<line class=grid x1={zero:.1} x2={zero:.1} y1={TOP} y2={height} />");
        for (r, (name, bars)) in self.rows.iter().enumerate() {
            let y = TOP + row * r as f64 + 4.0;
            let middle = y + (row - 8.0) / 2.0 + 4.0;
            let _ = write!(svg, "<text x={} y={middle:.1} text-anchor=end>{}</text>", LEFT - 8.0, escape(name));
            for (b, (value, colour)) in bars.iter().zip(COLOURS.iter().cycle()).enumerate() {
                let Some(value) = value else { continue };
                let (from, to) = (x(value.min(0.0)), x(value.max(0.0)));
                let top = y + BAR * b as f64;
                let _ = write!(
                    svg,
                    "<rect x={from:.1} y={top:.1} width={:.1} height={} fill=\"{colour}\" />\
                     <text x={:.1} y={:.1}>{} {}</text>",
                    (to - from).max(0.5),
                    BAR - 1.0,
                    to + 4.0,
                    top + BAR - 1.5,
                    number(*value),
                    escape(&self.unit)
                );
            }
        }
        svg + "</svg>"
    }
}
