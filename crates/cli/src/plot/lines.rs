//! Series over an axis, as lines.

use super::{escape, number, page};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 72.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 16.0;
/// Room for the names at the lines' ends.
const RIGHT: f64 = 150.0;

/// Colours that stay apart for most readers (Okabe and Ito), then again with dashes.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

/// A line: its name, and its points.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The picture.
pub(crate) struct Lines {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    /// What stands at each place of the x axis; `None`: the numbers themselves.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) series: Vec<Series>,
    /// What it was made from, as text.
    pub(crate) made_from: String,
}

/// An axis: from the data to the picture, by the logarithm where the data spans more than a factor of 30.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: &[f64], from: f64, to: f64, at_zero: bool) -> Axis {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log = least > 0.0 && most / least > 30.0;
        let (low, high) = match (log, at_zero) {
            (true, true) => (10f64.powf(least.log10().floor()), most * 1.1),
            (true, false) => (least, most),
            (false, true) => (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
            (false, false) => (least, if most > least { most } else { least + 1.0 }),
        };
        Axis { low, high, log, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
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
        (0..).map(|i| (first + f64::from(i)) * step).take_while(|v| *v <= self.high * 1.0001).collect()
    }
}

impl Lines {
    /// The page.
    pub(crate) fn page(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (xs, ys): (Vec<f64>, Vec<f64>) = points().copied().unzip();
        if xs.is_empty() {
            return page(&self.title, "<p>No point has this figure.</p>", "", &self.made_from);
        }
        let x = Axis::new(&xs, LEFT, WIDTH - RIGHT, false);
        let y = Axis::new(&ys, HEIGHT - BOTTOM, TOP, true);
        let mut svg = String::new();
        for tick in y.ticks() {
            let at = y.at(tick);
            let _ = write!(
                svg,
                "<line class=grid x1={LEFT} x2={} y1={at:.1} y2={at:.1} />\
                 <text x={} y={:.1} text-anchor=end>{}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0,
                number(tick)
            );
        }
        let bottom = HEIGHT - BOTTOM + 18.0;
        let mut last = f64::NEG_INFINITY;
        let mut places = xs.clone();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for place in places {
            let at = x.at(place);
            if at - last < 34.0 {
                continue;
            }
            last = at;
            let text = self.place(place);
            let _ = write!(svg, "<text x={at:.1} y={bottom} text-anchor=middle>{text}</text>");
        }
        self.draw(&mut svg, &x, &y);
        let svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={} text-anchor=middle>{}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=middle>{}</text></svg>",
            escape(&self.title).replace('"', "&quot;"),
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escape(&self.x),
            (HEIGHT - BOTTOM + TOP) / 2.0,
            escape(&self.y)
        );
        page(&self.title, &svg, &self.table(), &self.made_from)
    }

    fn draw(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let mut labels: Vec<(f64, usize)> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let (colour, dash) = look(i);
            let at = |p: &(f64, f64)| format!("{:.1},{:.1}", x.at(p.0), y.at(p.1));
            let line: Vec<String> = series.points.iter().map(at).collect();
            let _ = write!(svg, "<polyline points=\"{}\" stroke=\"{colour}\"{dash} />", line.join(" "));
            for point in &series.points {
                let _ = write!(
                    svg,
                    "<circle cx={:.1} cy={:.1} r=3 fill=\"{colour}\"><title>{}: {} at {}</title></circle>",
                    x.at(point.0),
                    y.at(point.1),
                    escape(&series.name),
                    number(point.1),
                    number(point.0)
                );
            }
            // A single line needs no name.
            if let Some(end) = series.points.last().filter(|_| !series.name.is_empty()) {
                labels.push((y.at(end.1), i));
            }
        }
        // Names beside the ends, pushed apart where they would cover each other, then back into the picture.
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
        for (at, i) in labels {
            let (colour, dash) = look(i);
            let _ = write!(
                svg,
                "<line x1={0} x2={1} y1={at:.1} y2={at:.1} stroke=\"{colour}\" stroke-width=2{dash} />\
                 <text x={2} y={3:.1}>{4}</text>",
                WIDTH - RIGHT + 8.0,
                WIDTH - RIGHT + 28.0,
                WIDTH - RIGHT + 34.0,
                at + 4.0,
                escape(&self.series[i].name)
            );
        }
    }

    /// What a place of the x axis is called.
    fn place(&self, place: f64) -> String {
        match &self.names {
            Some(names) => names.get(place as usize).map_or_else(String::new, |name| escape(name)),
            // As on the command line, and short enough to stand beside its neighbours.
            None if place >= 1_048_576.0 && place % 1_048_576.0 == 0.0 => format!("{}M", place / 1_048_576.0),
            None if place >= 4096.0 && place % 1024.0 == 0.0 => format!("{}K", place / 1024.0),
            None => number(place),
        }
    }

    fn table(&self) -> String {
        let mut places: Vec<f64> = self.series.iter().flat_map(|series| series.points.iter().map(|p| p.0)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let mut out = format!("<table><tr><th>{}", escape(&self.x));
        for series in &self.series {
            let _ = write!(out, "<th>{}", escape(&series.name));
        }
        for place in places {
            let _ = write!(out, "<tr><td>{}", self.place(place));
            for series in &self.series {
                let value = series.points.iter().find(|p| p.0 == place);
                let _ = write!(out, "<td>{}", value.map_or_else(|| "–".to_owned(), |p| number(p.1)));
            }
        }
        out + "</table>"
    }
}

fn look(series: usize) -> (&'static str, &'static str) {
    let dash = match series / COLOURS.len() {
        0 => "",
        1 => " stroke-dasharray=\"6 4\"",
        _ => " stroke-dasharray=\"2 3\"",
    };
    (COLOURS[series % COLOURS.len()], dash)
}
