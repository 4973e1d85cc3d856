//! Rows of bars. A bar may have an interval, and a mark for a reference value (a paper's). Bars of
//! negative values go to the left.

use crate::axis::Axis;
use crate::{colour, escape, number, width};
use std::fmt::Write;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// The length of the bar. With `None`, no bar is drawn; the reference value is drawn
    /// nevertheless.
    pub value: Option<f64>,
    /// The two ends of the value's confidence interval.
    pub ends: Option<[f64; 2]>,
    /// The reference value, such as the paper's, drawn as a mark.
    pub theirs: Option<f64>,
}

/// A bar chart: rows from top to bottom, and one bar per series in each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    pub title: String,
    /// The label of the value axis, with the unit.
    pub x: String,
    /// The names of the series, which the legend shows.
    pub series: Vec<String>,
    /// Where the reference values come from (`paper`), as the legend names them; empty if there are
    /// none.
    pub theirs: String,
    /// The rows: a name, and one bar per series.
    pub rows: Vec<(String, Vec<Bar>)>,
}

/// The SVG paths of all rows. Bars of one series share a path, so that a picture with hundreds of
/// bars stays a small file.
#[derive(Default)]
struct Drawn {
    /// One path per series.
    bars: Vec<String>,
    whiskers: String,
    theirs: String,
    values: String,
}

const WIDTH: f64 = 960.0;
/// Room for the printed values to the right of the longest bar.
const RIGHT: f64 = 130.0;
const BAR: f64 = 12.0;
const GAP: f64 = 9.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 40.0;

impl Bars {
    /// The picture as SVG, or a sentence that says that there is no bar.
    pub fn svg(&self) -> String {
        let bars = || self.rows.iter().flat_map(|(_, bars)| bars);
        let all = |bar: &Bar| [bar.value, bar.theirs, bar.ends.map(|e| e[0]), bar.ends.map(|e| e[1])];
        let values: Vec<f64> = bars().flat_map(all).flatten().collect();
        if values.is_empty() {
            return "<p>No run has this figure.</p>".to_owned();
        }
        let longest = self.rows.iter().map(|(name, _)| width(name)).fold(0.0, f64::max);
        let left = (longest + 16.0).clamp(80.0, 320.0);
        let x = Axis::linear(&values, left, WIDTH - RIGHT, true);
        let row = BAR * self.series.len().max(1) as f64 + GAP;
        let bottom = TOP + row * self.rows.len() as f64 + 4.0;
        let mut svg = self.legend(left);
        svg.push_str(&x.grid(TOP, bottom));
        let mut drawn = Drawn { bars: vec![String::new(); self.series.len()], ..Drawn::default() };
        svg.push_str("<g text-anchor=end>");
        for (r, (name, bars)) in self.rows.iter().enumerate() {
            let y = TOP + row * r as f64 + 4.0;
            let middle = y + (row - GAP) / 2.0 + 4.0;
            let _ = write!(svg, "<text x={} y={middle:.1}>{}</text>", left - 8.0, escape(name));
            for (b, bar) in bars.iter().enumerate() {
                self.draw(&mut drawn, &x, bar, y + BAR * b as f64, b);
            }
        }
        svg.push_str("</g>");
        for (b, strokes) in drawn.bars.iter().enumerate().filter(|(_, strokes)| !strokes.is_empty()) {
            let _ = write!(svg, "<path d=\"{strokes}\" stroke=\"{}\" stroke-width={} />", colour(b), BAR - 1.0);
        }
        for (class, d) in
            [("whisker", &drawn.whiskers), ("theirs", &drawn.theirs)].iter().filter(|(_, d)| !d.is_empty())
        {
            let _ = write!(svg, "<path class={class} d=\"{d}\" />");
        }
        let _ = write!(svg, "<g class=dim>{}</g>", drawn.values);
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={:.1} text-anchor=middle>{}</text></svg>",
            bottom + BOTTOM,
            escape(&self.title),
            (left + WIDTH - RIGHT) / 2.0,
            bottom + 33.0,
            escape(&self.x)
        )
    }

    fn draw(&self, drawn: &mut Drawn, x: &Axis, bar: &Bar, top: f64, series: usize) {
        let middle = top + (BAR - 1.0) / 2.0;
        let mut end = x.at(0.0);
        if let Some((value, strokes)) = bar.value.zip(drawn.bars.get_mut(series)) {
            let (from, to) = (x.at(value.min(0.0)), x.at(value.max(0.0)));
            let _ = write!(strokes, "M{from:.1} {middle:.1}H{:.1}", to.max(from + 0.8));
            end = end.max(to);
        }
        if let Some(ends) = bar.ends {
            let [low, high] = ends.map(|end| x.at(end));
            drawn.whiskers += &whisker(low, high, middle);
            end = end.max(high);
        }
        if let Some(theirs) = bar.theirs {
            drawn.theirs += &diamond(x.at(theirs), middle);
            end = end.max(x.at(theirs) + 5.0);
        }
        if let Some(value) = bar.value {
            // A mark may lie beyond the end of its bar, so both values are printed to the right of
            // whichever reaches further.
            let theirs =
                bar.theirs.map_or_else(String::new, |theirs| format!(" ({} {})", escape(&self.theirs), number(theirs)));
            let (at, below, value) = (end + 5.0, middle + 4.0, number(value));
            let _ = write!(drawn.values, "<text x={at:.1} y={below:.1}>{value}{theirs}</text>");
        }
    }

    fn legend(&self, left: f64) -> String {
        let mut svg = String::new();
        let mut at = left;
        let mut put = |svg: &mut String, mark: String, name: &str| {
            let _ = write!(svg, "{mark}<text x={:.1} y=15>{}</text>", at + 17.0, escape(name));
            at += 36.0 + width(name);
            at
        };
        let mut next = left;
        for (s, name) in self.series.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let mark = format!("<rect x={next:.1} y=5 width=11 height=11 fill=\"{}\" />", colour(s));
            next = put(&mut svg, mark, name);
        }
        let bars = || self.rows.iter().flat_map(|(_, bars)| bars);
        if bars().any(|bar| bar.theirs.is_some()) {
            let mark = format!("<path class=theirs d=\"{}\" />", diamond(next + 6.0, 10.5));
            next = put(&mut svg, mark, &self.theirs);
        }
        if bars().any(|bar| bar.ends.is_some()) {
            let mark = format!("<path class=whisker d=\"{}\" />", whisker(next, next + 12.0, 10.5));
            put(&mut svg, mark, "95% interval");
        }
        svg
    }
}

fn whisker(low: f64, high: f64, y: f64) -> String {
    format!("M{low:.1} {:.1}v7m0-3.5H{high:.1}m0-3.5v7", y - 3.5)
}

fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}l5-5 5 5-5 5z", x - 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_intervals_and_marks_are_drawn() {
        let bars = Bars {
            title: "t".into(),
            x: "share, %".into(),
            series: vec!["off".into(), "on".into()],
            theirs: "paper".into(),
            rows: vec![
                (
                    "a".into(),
                    vec![Bar { value: Some(30.0), ends: Some([28.0, 33.0]), theirs: Some(35.1) }, Bar::default()],
                ),
                (
                    "b".into(),
                    vec![Bar { value: Some(-2.0), ..Bar::default() }, Bar { theirs: Some(9.0), ..Bar::default() }],
                ),
            ],
        };
        let svg = bars.svg();
        assert_eq!(svg.matches("<rect").count(), 2, "the legend");
        let bars = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(
            (svg.matches("<path d=").count(), bars.matches('M').count()),
            (1, 2),
            "both are of one series: {bars}"
        );
        // The legend adds one bar and one mark.
        assert_eq!((svg.matches("v7m0-3.5H").count(), svg.matches("l5-5 5 5-5 5z").count()), (1 + 1, 2 + 1));
        assert!(svg.contains(">30 (paper 35.1)<"), "both values behind the bar");
        assert!(svg.contains(">paper<") && svg.contains("share, %") && !svg.contains("NaN"));
        assert!(Bars::default().svg().contains("No run"));
    }
}
