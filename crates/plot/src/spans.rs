//! A tornado chart: rows of ranges on one axis, with a line at the common base value.

use crate::axis::Axis;
use crate::{colour, escape, number, width};
use std::fmt::Write;

/// A row: the range that results from varying one parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// The parameter that is varied.
    pub name: String,
    /// The least value, and the setting that gives it.
    pub least: (f64, String),
    /// The greatest value, and the setting that gives it.
    pub greatest: (f64, String),
}

/// The chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spans {
    pub title: String,
    /// The label of the axis, with the unit.
    pub x: String,
    /// The base value, which the chart calls `as chosen`.
    pub usual: Option<f64>,
    /// Further values to compare with, each with its name.
    pub others: Vec<(f64, String)>,
    /// The rows, in the order in which they are drawn.
    pub rows: Vec<Span>,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 40.0;
const ROW: f64 = 30.0;
const TOP: f64 = 28.0;

impl Spans {
    /// The chart as SVG, or a sentence that says that there is no row.
    pub fn svg(&self) -> String {
        if self.rows.is_empty() {
            return "<p>No run has this figure.</p>".to_owned();
        }
        let ends = self.rows.iter().flat_map(|row| [row.least.0, row.greatest.0]);
        let values: Vec<f64> = ends.chain(self.usual).chain(self.others.iter().map(|other| other.0)).collect();
        let x = Axis::linear(&values, LEFT, WIDTH - RIGHT, true);
        let bottom = TOP + ROW * self.rows.len() as f64 + 4.0;
        let mut svg = String::new();
        svg.push_str(&x.grid(TOP, bottom));
        for (r, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * r as f64 + 4.0;
            let (from, to) = (x.at(row.least.0), x.at(row.greatest.0));
            let _ = write!(
                svg,
                "<text x={} y={:.1} text-anchor=end>{}</text>\
                 <rect x={from:.1} y={y:.1} width={:.1} height=11 fill=\"{}\"><title>{} to {}</title></rect>\
                 {}{}",
                LEFT - 8.0,
                y + 10.0,
                escape(&row.name),
                (to - from).max(1.0),
                colour(0),
                number(row.least.0),
                number(row.greatest.0),
                before(from - 4.0, y + 22.0, &end(&row.least)),
                behind(to + 4.0, y + 22.0, &end(&row.greatest)),
            );
        }
        let usual = self.usual.map(|value| (value, "as chosen".to_owned()));
        for (i, (value, name)) in usual.iter().chain(&self.others).enumerate() {
            let (at, colour) = (x.at(*value), colour(i + 1));
            let text = format!("{name} {}", number(*value));
            let half = width(&text) / 2.0;
            let _ = write!(
                svg,
                "<line x1={at:.1} x2={at:.1} y1={} y2={bottom} stroke=\"{colour}\" stroke-width=1.6 stroke-dasharray=\"5 4\" />\
                 <text x={:.1} y=16 text-anchor=middle>{}</text>",
                TOP - 6.0,
                at.clamp(half, WIDTH - half),
                escape(&text)
            );
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={:.1} text-anchor=middle>{}</text></svg>",
            bottom + 40.0,
            escape(&self.title),
            (LEFT + WIDTH - RIGHT) / 2.0,
            bottom + 33.0,
            escape(&self.x)
        )
    }
}

fn end((value, name): &(f64, String)) -> String {
    if name.is_empty() { number(*value) } else { format!("{} ({name})", number(*value)) }
}

/// Draws a text that ends at `x`, or begins at the left edge of the picture if it is too long.
fn before(x: f64, y: f64, text: &str) -> String {
    let (x, anchor) = if width(text) > x { (2.0, "start") } else { (x, "end") };
    format!("<text class=dim x={x:.1} y={y:.1} text-anchor={anchor}>{}</text>", escape(text))
}

/// Draws a text that begins at `x`, or ends at the right edge of the picture if it is too long.
fn behind(x: f64, y: f64, text: &str) -> String {
    let (x, anchor) = if x + width(text) > WIDTH { (WIDTH - 2.0, "end") } else { (x, "start") };
    format!("<text class=dim x={x:.1} y={y:.1} text-anchor={anchor}>{}</text>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_lines_are_drawn() {
        let row = Span { name: "tries".into(), least: (3.0, "8".into()), greatest: (41.0, "1024".into()) };
        let spans =
            Spans { usual: Some(13.0), others: vec![(39.9, "paper".into())], rows: vec![row], ..Spans::default() };
        let svg = spans.svg();
        assert_eq!((svg.matches("<rect").count(), svg.matches("stroke-dasharray").count()), (1, 2));
        assert!(svg.contains("41 (1024)") && svg.contains("paper 39.9"));
        assert!(Spans::default().svg().contains("No run"));
    }

    #[test]
    fn long_names_stay_in_the_picture() {
        let long = "8 locks, sections of 250 cycles, 0 between".to_owned();
        let row = Span { name: "shape".into(), least: (-20.0, long.clone()), greatest: (40.0, long) };
        let others = vec![(40.0, "a name that is long".into())];
        let svg = Spans { others, rows: vec![row], ..Spans::default() }.svg();
        assert!(svg.contains("x=2.0") && svg.contains("x=958.0 y=54.0 text-anchor=end"), "{svg}");
    }
}
