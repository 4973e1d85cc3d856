//! Series over an axis whose places are named: thread counts, levels.

use super::{COLOURS, escape, number};
use std::fmt::Write;

/// A line: its name, and a value for each place; `None` where there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its values.
    pub values: Vec<Option<f64>>,
    /// It is the paper's, and drawn with dashes.
    pub paper: bool,
}

/// The picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// What stands over it.
    pub title: String,
    /// What the places are.
    pub x: String,
    /// The unit of the values.
    pub y: String,
    /// The places.
    pub places: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

impl Lines {
    /// As SVG.
    pub fn svg(&self) -> String {
        let values = || self.lines.iter().flat_map(|line| line.values.iter().flatten().copied());
        let (most, least) = (values().fold(0.0, f64::max), values().fold(0.0, f64::min));
        let span = if most > least { most - least } else { 1.0 };
        let last = self.places.len().saturating_sub(1).max(1) as f64;
        let x = |place: usize| LEFT + place as f64 / last * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - (value - least) / span * (HEIGHT - BOTTOM - TOP);
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img>");
        for tick in 0..=4 {
            let value = least + span * f64::from(tick) / 4.0;
            let at = y(value);
            let _ = write!(
                svg,
                "<line class=grid x1={LEFT} x2={} y1={at:.1} y2={at:.1} />\
                 <text x={} y={:.1} text-anchor=end>{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                number(value)
            );
        }
        for (place, name) in self.places.iter().enumerate() {
            let _ = write!(
                svg,
                "<text x={:.1} y={} text-anchor=middle>{}</text>",
                x(place),
                HEIGHT - BOTTOM + 18.0,
                escape(name)
            );
        }
        let _ = write!(
            svg,
            "<text x={} y={} text-anchor=middle>{}</text><text x=4 y=11>{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            escape(&self.x),
            escape(&self.y)
        );
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let known = || line.values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?)));
            let points: Vec<String> = known().map(|(place, v)| format!("{:.1},{:.1}", x(place), y(v))).collect();
            let dashes = if line.paper { " stroke-dasharray=\"5 4\"" } else { "" };
            let _ = write!(svg, "<polyline stroke=\"{colour}\"{dashes} points=\"{}\" />", points.join(" "));
            for (place, value) in known() {
                let _ = write!(svg, "<circle cx={:.1} cy={:.1} r=3 fill=\"{colour}\" />", x(place), y(value));
            }
            if let Some((place, value)) = known().next_back() {
                let _ = write!(
                    svg,
                    "<text x={:.1} y={:.1} fill=\"{colour}\">{}</text>",
                    x(place) + 8.0,
                    y(value) + 4.0,
                    escape(&line.name)
                );
            }
        }
        svg + "</svg>"
    }
}
