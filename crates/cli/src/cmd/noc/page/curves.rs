//! Latency against load: one curve, or several curves beside each other.

use super::document::{document, escape, number};
use crate::cmd::noc::options::read;
use crate::error::BadInput;
use baton_noc::experiment::Point;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// One curve: the points of a run, of an earlier run, or of another program's table.
pub(crate) struct Curve {
    /// The name that distinguishes the curve from the others.
    pub(crate) name: String,
    /// The points: load, mean packet latency (`None` if the run did not settle), half its 95%
    /// interval, 99th percentile, flits accepted.
    pub(crate) points: Vec<CurvePoint>,
    /// The saturation load, if it was searched for and found.
    pub(crate) saturation: Option<f64>,
    /// The configuration, as JSON; null if there is none.
    pub(crate) configuration: Value,
}

impl Curve {
    /// A curve of points in any order. Points that did not settle at more than one and a half times
    /// the saturation load are left out, because they would only compress the curve.
    pub(crate) fn of<'a>(
        name: &str,
        points: impl Iterator<Item = &'a Point>,
        saturation: Option<f64>,
        configuration: Value,
    ) -> Curve {
        let mut points: Vec<CurvePoint> = points.map(Into::into).collect();
        points.retain(|p| p.mean.is_some() || saturation.is_none_or(|s| p.rate <= 1.5 * s));
        points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        points.dedup_by(|a, b| a.rate == b.rate);
        Curve { name: name.to_owned(), points, saturation, configuration }
    }
}

/// The figures of a curve at one load.
#[derive(Clone, Copy, Default)]
pub(crate) struct CurvePoint {
    rate: f64,
    mean: Option<f64>,
    half: Option<f64>,
    p99: Option<f64>,
    accepted: Option<f64>,
}

impl From<&Point> for CurvePoint {
    fn from(p: &Point) -> CurvePoint {
        let r = &p.result;
        if r.saturated || r.packets == 0 {
            return CurvePoint { rate: p.rate, ..CurvePoint::default() };
        }
        CurvePoint {
            rate: p.rate,
            mean: Some(r.packet_latency.mean),
            half: r.packet_latency.half_width_95,
            p99: Some(r.packet_latency.p99 as f64),
            accepted: Some(r.accepted_flits),
        }
    }
}

/// A point's figures as JSON.
pub(crate) fn point(p: &Point) -> Value {
    let r = &p.result;
    let mean = (!r.saturated).then_some(r.packet_latency.mean);
    json!({
        "rate": p.rate,
        "saturated": r.saturated,
        "packet_latency": mean,
        "half_width_95": r.packet_latency.half_width_95.filter(|_| !r.saturated),
        "network_latency": (!r.saturated).then_some(r.network_latency.mean),
        "p99": (!r.saturated).then_some(r.packet_latency.p99),
        "accepted_flits": (!r.saturated).then_some(r.accepted_flits),
        "hops": (!r.saturated).then_some(r.hops),
    })
}

/// Reads curves from an earlier sweep's `--json`, or one curve from a table of loads and mean
/// latencies with commas.
pub(crate) fn earlier(path: &Path) -> anyhow::Result<Vec<Curve>> {
    let (text, file) = (read(path)?, path.display().to_string());
    let name = path.file_stem().map_or_else(|| file.clone(), |s| s.to_string_lossy().into_owned());
    let bad = |what: String| BadInput::new(format!("{file}: {what}"));
    if !text.trim_start().starts_with('{') {
        let points = table(&text).map_err(bad)?;
        return Ok(vec![Curve { name, points, saturation: None, configuration: Value::Null }]);
    }
    let all: Value = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
    let several = all["curves"].as_array().cloned();
    let single = several.is_none();
    let read_one = |v: Value| -> Option<Curve> {
        let number = |p: &Value, key: &str| p[key].as_f64();
        let points = v["points"].as_array()?.iter().map(|p| {
            let mean = number(p, "packet_latency");
            let (half, p99) = (number(p, "half_width_95"), number(p, "p99"));
            Some(CurvePoint { rate: number(p, "rate")?, mean, half, p99, accepted: number(p, "accepted_flits") })
        });
        Some(Curve {
            name: if single { name.clone() } else { format!("{name}: {}", v["name"].as_str()?) },
            points: points.collect::<Option<_>>()?,
            saturation: v["saturation_load"].as_f64(),
            configuration: v["configuration"].clone(),
        })
    };
    let curves: Option<Vec<Curve>> = several.unwrap_or_else(|| vec![all]).into_iter().map(read_one).collect();
    Ok(curves.ok_or_else(|| bad("expected what `baton noc sweep --json` prints, with its `points`".into()))?)
}

/// Reads loads and latencies. Lines that do not begin with a number are headings; a latency that is
/// not a number did not settle.
fn table(text: &str) -> Result<Vec<CurvePoint>, String> {
    let mut points = vec![];
    for (n, line) in (1..).zip(text.lines()) {
        let mut fields = line.split(',').map(str::trim);
        let Some(rate) = fields.next().and_then(|f| f.parse::<f64>().ok()) else { continue };
        if !(0.0..=1.0).contains(&rate) {
            return Err(format!("line {n}: load {rate}: expected 0 to 1"));
        }
        let mean = fields.next().and_then(|f| f.parse::<f64>().ok()).filter(|m| m.is_finite() && *m >= 0.0);
        points.push(CurvePoint { rate, mean, ..CurvePoint::default() });
    }
    if points.iter().all(|p| p.mean.is_none()) {
        return Err("expected lines `load,mean latency`, or what `baton noc sweep --json` prints".into());
    }
    points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    Ok(points)
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 16.0;
const RIGHT: f64 = 16.0;

/// Round steps for an axis that reaches to `most`.
fn ticks(most: f64) -> Vec<f64> {
    let raw = most / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(raw);
    (0..).map(|i| f64::from(i) * step).take_while(|v| *v <= most * 1.0001).collect()
}

/// Maps figures to positions in the picture.
struct Axes {
    most_x: f64,
    most_y: f64,
}

impl Axes {
    fn of(curves: &[Curve]) -> Axes {
        let points = || curves.iter().flat_map(|c| &c.points);
        let most_x = points().map(|p| p.rate).chain(curves.iter().filter_map(|c| c.saturation)).fold(1e-6, f64::max);
        // Beyond its knee a curve rises without bound, so the axis ends no higher than five times
        // the least latency.
        let floor = points().filter_map(|p| p.mean).fold(f64::INFINITY, f64::min);
        let floor = if floor.is_finite() { floor } else { 1.0 };
        let top = points().filter_map(|p| p.mean).fold(floor, f64::max);
        Axes { most_x: most_x * 1.02, most_y: top.min(5.0 * floor).max(1.2 * floor) * 1.02 }
    }

    fn x(&self, load: f64) -> f64 {
        LEFT + load / self.most_x * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, latency: f64) -> f64 {
        HEIGHT - BOTTOM - latency / self.most_y * (HEIGHT - BOTTOM - TOP)
    }

    fn frame(&self) -> String {
        let mut svg = String::new();
        for t in ticks(self.most_y) {
            let (y, right) = (self.y(t), WIDTH - RIGHT);
            let _ = write!(svg, "<line class=grid x1={LEFT} x2={right} y1={y:.1} y2={y:.1} />");
            let _ = write!(svg, "<text x={} y={:.1} text-anchor=end>{}</text>", LEFT - 8.0, y + 4.0, number(t));
        }
        for t in ticks(self.most_x) {
            let (x, below) = (self.x(t), HEIGHT - BOTTOM + 18.0);
            let _ = write!(svg, "<text x={x:.1} y={below} text-anchor=middle>{}</text>", number(t));
        }
        let (middle, below) = (LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - 8.0);
        let _ = write!(
            svg,
            "<text x={middle} y={below} text-anchor=middle>offered load, packets a node a cycle</text>\
             <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=middle>mean packet latency, cycles</text>",
            (HEIGHT - BOTTOM + TOP) / 2.0
        );
        svg
    }

    /// The line of one curve, cut where it leaves the picture.
    fn line(&self, points: &[(f64, f64)]) -> String {
        let mut path: Vec<(f64, f64)> = vec![];
        for &(load, mean) in points {
            if mean <= self.most_y {
                path.push((load, mean));
                continue;
            }
            if let Some(&(before, low)) = path.last() {
                path.push((before + (load - before) * (self.most_y - low) / (mean - low), self.most_y));
            }
            break;
        }
        let text: Vec<String> = path.iter().map(|(l, m)| format!("{:.1},{:.1}", self.x(*l), self.y(*m))).collect();
        text.join(" ")
    }

    fn curve(&self, c: &Curve, class: &str) -> String {
        let mut svg = String::new();
        let settled: Vec<(f64, f64)> = c.points.iter().filter_map(|p| Some((p.rate, p.mean?))).collect();
        let name = escape(&c.name);
        if let Some(load) = c.saturation {
            let (x, bottom) = (self.x(load), HEIGHT - BOTTOM);
            let _ = write!(
                svg,
                "<line class=\"mark {class}\" x1={x:.1} x2={x:.1} y1={TOP} y2={bottom}>\
                 <title>{name}: saturation at {}</title></line>",
                number(load)
            );
        }
        let _ = write!(svg, "<polyline class={class} points=\"{}\" />", self.line(&settled));
        for p in c.points.iter().filter(|p| p.mean.is_some_and(|m| m <= self.most_y)) {
            let (mean, half) = (p.mean.unwrap_or(0.0), p.half.unwrap_or(0.0));
            let (x, y) = (self.x(p.rate), self.y(mean));
            let (high, low) = (self.y((mean + half).min(self.most_y)), self.y(mean - half));
            let _ = write!(
                svg,
                "<line class=\"half {class}\" x1={x:.1} x2={x:.1} y1={high:.1} y2={low:.1} />\
                 <circle class={class} cx={x:.1} cy={y:.1} r=3.5><title>{name}, load {}: {mean:.3} ± {half:.3} \
                 cycles</title></circle>",
                number(p.rate)
            );
        }
        svg
    }
}

/// The whole page.
pub(crate) fn curves(title: &str, curves: &[Curve]) -> String {
    let axes = Axes::of(curves);
    let class = |i: usize| format!("k{}", i % 6);
    let drawn: String = curves.iter().enumerate().map(|(i, c)| axes.curve(c, &class(i))).collect();
    let legend: String = curves
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let knee = c.saturation.map(|s| format!(" <small>saturates at {}</small>", number(s))).unwrap_or_default();
            format!("<li class={}>{}{knee}", class(i), escape(&c.name))
        })
        .collect();
    let tables: String = curves.iter().map(figures).collect();
    let body = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"Mean packet latency against offered load\">{}{drawn}\
         </svg><ul class=legend>{legend}</ul><p class=note>Dashed: the saturation load, where mean latency reaches three \
         times its value at no load. Bars: 95% intervals.</p>{tables}",
        axes.frame()
    );
    document(title, STYLE, &body)
}

fn figures(c: &Curve) -> String {
    let rows: String = c.points.iter().map(row).collect();
    let configuration = match &c.configuration {
        Value::Null => String::new(),
        v => {
            let text = escape(&serde_json::to_string_pretty(v).unwrap_or_default());
            format!("<details><summary>Configuration</summary><pre>{text}</pre></details>")
        }
    };
    format!(
        "<details open><summary>{}</summary><div class=wide><table><tr><th>load<th>packet latency<th>± 95%<th>p99\
         <th>flits accepted</tr>{rows}</table></div>{configuration}</details>",
        escape(&c.name)
    )
}

fn row(p: &CurvePoint) -> String {
    let Some(mean) = p.mean else {
        return format!("<tr><td>{}<td colspan=4>did not settle</tr>", number(p.rate));
    };
    let or = |v: Option<f64>, digits: usize| v.map_or_else(|| "–".to_owned(), |v| format!("{v:.digits$}"));
    let (half, p99, accepted) = (or(p.half, 3), or(p.p99, 0), or(p.accepted, 5));
    format!("<tr><td>{}<td>{mean:.3}<td>{half}<td>{p99}<td>{accepted}</tr>", number(p.rate))
}

const STYLE: &str = "\
.grid{stroke:var(--soft)}.mark{stroke-dasharray:3 5;opacity:.7}.half{stroke-width:1}polyline{fill:none;stroke-width:2}\
.k0{--c:var(--c0)}.k1{--c:var(--c1)}.k2{--c:var(--c2)}.k3{--c:var(--c3)}.k4{--c:var(--c4)}.k5{--c:var(--c5)}\
.mark,.half,polyline{stroke:var(--c)}circle{fill:var(--c)}.note{color:var(--dim);font-size:13px;margin:.3rem 0 1rem}\
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;padding:0;margin:.6rem 0 0}\
.legend li::before{content:'';display:inline-block;width:1.3em;height:3px;background:var(--c);vertical-align:middle;\
margin-right:.5em}small{color:var(--dim)}summary{font-weight:600}details details summary{font-weight:400}";
