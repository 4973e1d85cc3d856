//! A line chart: several series over one axis.

use crate::axis::Axis;
use crate::{colour, escape, number, short, width};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 16.0;
/// The least room for names at the right ends of the lines. Long names get more, up to a third of
/// the picture.
const RIGHT: f64 = 150.0;
/// Width of the short stroke in front of a name, with the gaps around it.
const NAME: f64 = 38.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The two ends of the value's confidence interval, if there is one.
    pub ends: Option<[f64; 2]>,
}

impl Point {
    /// A point without a confidence interval.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, ends: None }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub name: String,
    /// The points, sorted by `x`.
    pub points: Vec<Point>,
    /// Whether these are reference figures (a paper's). They get dashes and the colour of the
    /// series before them.
    pub theirs: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    pub title: String,
    /// The label of the x axis, with the unit.
    pub x: String,
    /// The label of the y axis, with the unit.
    pub y: String,
    /// The labels of the positions 0, 1, 2 and so on of the x axis; `None` if the numbers
    /// themselves are the labels.
    pub names: Option<Vec<String>>,
    pub series: Vec<Series>,
}

impl Lines {
    /// The chart as SVG, or a sentence that says that no series has a point.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let ys: Vec<f64> =
            points().flat_map(|p| [Some(p.y), p.ends.map(|e| e[0]), p.ends.map(|e| e[1])]).flatten().collect();
        if xs.is_empty() {
            return "<p>No point has this figure.</p>".to_owned();
        }
        let right = self.right();
        let x = Axis::new(&xs, LEFT, right, false);
        let y = Axis::new(&ys, HEIGHT - BOTTOM, TOP, true);
        let mut svg = String::new();
        for tick in y.ticks() {
            let at = y.at(tick);
            let class = if tick == 0.0 { "zero" } else { "grid" };
            let _ = write!(
                svg,
                "<line class={class} x1={LEFT} x2={right} y1={at:.1} y2={at:.1} />\
                 <text x={} y={:.1} text-anchor=end>{}</text>",
                LEFT - 8.0,
                at + 4.0,
                short(tick)
            );
        }
        let bottom = HEIGHT - BOTTOM + 18.0;
        let mut last = f64::NEG_INFINITY;
        for place in self.places() {
            let at = x.at(place);
            if at - last >= 34.0 {
                last = at;
                let text = self.place(place);
                let _ = write!(svg, "<text x={at:.1} y={bottom} text-anchor=middle>{text}</text>");
            }
        }
        self.draw(&mut svg, &x, &y);
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={} text-anchor=middle>{}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=middle>{}</text></svg>",
            escape(&self.title),
            (LEFT + right) / 2.0,
            HEIGHT - 8.0,
            escape(&self.x),
            (HEIGHT - BOTTOM + TOP) / 2.0,
            escape(&self.y)
        )
    }

    /// The right end of the x axis; the names of the series begin behind it.
    fn right(&self) -> f64 {
        let longest = self.series.iter().map(|series| width(&series.name)).fold(0.0, f64::max);
        WIDTH - (NAME + longest).clamp(RIGHT, WIDTH / 3.0)
    }

    fn draw(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let mut labels: Vec<(f64, usize)> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let (colour, dash) = self.look(i);
            let at = |p: &Point| format!("{:.1},{:.1}", x.at(p.x), y.at(p.y));
            let line: Vec<String> = series.points.iter().map(at).collect();
            let _ = write!(svg, "<polyline points=\"{}\" stroke=\"{colour}\"{dash} />", line.join(" "));
            for point in &series.points {
                let (px, py) = (x.at(point.x), y.at(point.y));
                if let Some(ends) = point.ends {
                    let [low, high] = ends.map(|end| y.at(end));
                    let _ = write!(
                        svg,
                        "<path class=whisker d=\"M{px:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}H{1:.1}M{0:.1} {high:.1}H{1:.1}\" />",
                        px - 4.0,
                        px + 4.0
                    );
                }
                let _ = write!(
                    svg,
                    "<circle cx={px:.1} cy={py:.1} r=3 fill=\"{colour}\"><title>{}: {} at {}</title></circle>",
                    escape(&series.name),
                    number(point.y),
                    number(point.x)
                );
            }
            // A series without a name, such as the only one of a chart, has no name at the end of
            // its line.
            if let Some(end) = series.points.last().filter(|_| !series.name.is_empty()) {
                labels.push((y.at(end.y), i));
            }
        }
        self.names(svg, labels);
    }

    /// Writes the names beside the ends of their lines. Names that would overlap are pushed apart,
    /// then back into the picture.
    fn names(&self, svg: &mut String, mut labels: Vec<(f64, usize)>) {
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = f64::NEG_INFINITY;
        for (at, _) in &mut labels {
            *at = at.max(free);
            free = *at + 15.0;
        }
        let mut most = HEIGHT - BOTTOM;
        for (at, _) in labels.iter_mut().rev() {
            *at = at.min(most);
            most = *at - 15.0;
        }
        let right = self.right();
        for (at, i) in labels {
            let (colour, dash) = self.look(i);
            let _ = write!(
                svg,
                "<line x1={0} x2={1} y1={at:.1} y2={at:.1} stroke=\"{colour}\" stroke-width=2{dash} />\
                 <text x={2} y={3:.1}>{4}</text>",
                right + 8.0,
                right + 28.0,
                right + 34.0,
                at + 4.0,
                escape(&self.series[i].name)
            );
        }
    }

    /// The colour and dashes of a line. Each series has a colour of its own; when the colours are
    /// used up they repeat with dashes. Reference figures have the colour of the series before
    /// them.
    fn look(&self, line: usize) -> (&'static str, &'static str) {
        let ours = self.series[..=line].iter().filter(|series| !series.theirs).count();
        let place = ours.saturating_sub(1);
        let dash = match (self.series[line].theirs, place / crate::COLOURS.len()) {
            (true, _) => " stroke-dasharray=\"3 4\"",
            (false, 0) => "",
            (false, _) => " stroke-dasharray=\"8 4\"",
        };
        (colour(place), dash)
    }

    fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = self.series.iter().flat_map(|series| series.points.iter().map(|p| p.x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The label of a position on the x axis.
    fn place(&self, place: f64) -> String {
        match &self.names {
            Some(names) => names.get(place as usize).map_or_else(String::new, |name| escape(name)),
            // Sizes are written as on the command line (`4K`, `2M`), which is also short.
            None if place >= 1_048_576.0 && place % 1_048_576.0 == 0.0 => format!("{}M", place / 1_048_576.0),
            None if place >= 4096.0 && place % 1024.0 == 0.0 => format!("{}K", place / 1024.0),
            None => number(place),
        }
    }

    /// The same figures as an HTML table.
    pub fn table(&self) -> String {
        let mut out = format!("<table><tr><th>{}", escape(&self.x));
        for series in &self.series {
            let _ = write!(out, "<th class=n>{}", escape(&series.name));
        }
        for place in self.places() {
            let _ = write!(out, "<tr><td>{}", self.place(place));
            for series in &self.series {
                let value = series.points.iter().find(|p| p.x == place);
                let _ = write!(out, "<td class=n>{}", value.map_or_else(|| "–".to_owned(), |p| number(p.y)));
            }
        }
        out + "</table>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_have_room() {
        let named = |name: &str| Lines {
            series: vec![Series { name: name.into(), points: vec![Point::new(1.0, 1.0)], theirs: false }],
            ..Lines::default()
        };
        assert_eq!(named("mcs").right(), WIDTH - RIGHT);
        let name = "adaptive, up to 100 tries";
        assert!(named(name).right() + NAME + width(name) <= WIDTH);
        assert!(named(&"long ".repeat(99)).right() > WIDTH / 2.0, "the lines keep their room");
    }

    #[test]
    fn every_point_and_interval_is_drawn() {
        let ours = Series {
            name: "ours".into(),
            points: vec![Point { x: 4.0, y: 1.0, ends: Some([0.5, 1.5]) }, Point::new(64.0, 12.5)],
            theirs: false,
        };
        let theirs = Series { name: "paper".into(), theirs: true, ..ours.clone() };
        let lines = Lines { series: vec![ours, theirs], y: "gain, %".into(), ..Lines::default() };
        let svg = lines.svg();
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=whisker").count()), (4, 2));
        assert_eq!(
            svg.matches(&format!("stroke=\"{}\"", colour(0))).count(),
            4,
            "both lines and both names: one colour"
        );
        assert!(svg.contains("gain, %") && !svg.contains("NaN"));
        assert!(Lines::default().svg().contains("No point"));
        assert_eq!(lines.table().matches("<td class=n>12.5").count(), 2);
    }
}
