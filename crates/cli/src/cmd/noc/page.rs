//! The sweep's page: one HTML file, its picture drawn as SVG; no script, no network.

use baton_noc::experiment::{Experiment, Point};
use serde_json::{Value, json};
use std::fmt::Write;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 16.0;
const RIGHT: f64 = 16.0;

/// A point's figures for programs.
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

/// Round steps for an axis up to `most`.
fn ticks(most: f64) -> Vec<f64> {
    let raw = most / 6.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(raw);
    (0..).map(|i| f64::from(i) * step).take_while(|v| *v <= most * 1.0001).collect()
}

fn number(v: f64) -> String {
    let text = format!("{v:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The whole page.
pub(crate) fn curve(experiment: &Experiment, curve: &[Point], saturation: Option<f64>) -> String {
    let settled: Vec<(f64, f64, f64)> = curve
        .iter()
        .filter(|p| !p.result.saturated && p.result.packets > 0)
        .map(|p| (p.rate, p.result.packet_latency.mean, p.result.packet_latency.half_width_95.unwrap_or(0.0)))
        .collect();
    let most_x = curve.iter().map(|p| p.rate).chain(saturation).fold(1e-6, f64::max) * 1.02;
    // Beyond the knee the curve goes through the roof: the axis ends at five times the value at no load.
    let floor = settled.first().map_or(1.0, |p| p.1);
    let most_y = settled.iter().map(|p| p.1 + p.2).fold(floor, f64::max).min(5.0 * floor).max(1.2 * floor);
    let x = |v: f64| LEFT + v / most_x * (WIDTH - LEFT - RIGHT);
    let y = |v: f64| HEIGHT - BOTTOM - (v / most_y).min(1.0) * (HEIGHT - BOTTOM - TOP);
    let mut svg = String::new();
    for t in ticks(most_y) {
        let _ = write!(
            svg,
            "<line class=grid x1={LEFT} x2={0} y1={1:.1} y2={1:.1} /><text x={2} y={3:.1} text-anchor=end>{4}</text>",
            WIDTH - RIGHT,
            y(t),
            LEFT - 8.0,
            y(t) + 4.0,
            number(t)
        );
    }
    for t in ticks(most_x) {
        let at = HEIGHT - BOTTOM;
        let _ = write!(svg, "<text x={:.1} y={} text-anchor=middle>{}</text>", x(t), at + 18.0, number(t));
    }
    if let Some(load) = saturation {
        let _ = write!(
            svg,
            "<line class=mark x1={0:.1} x2={0:.1} y1={TOP} y2={1} /><text x={2:.1} y={3} text-anchor=end>saturation {4}</text>",
            x(load),
            HEIGHT - BOTTOM,
            x(load) - 6.0,
            TOP + 12.0,
            number(load)
        );
    }
    let line: Vec<String> = settled.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
    let _ = write!(svg, "<polyline points=\"{}\" />", line.join(" "));
    for (load, mean, half) in &settled {
        let _ = write!(
            svg,
            "<line class=half x1={0:.1} x2={0:.1} y1={1:.1} y2={2:.1} /><circle cx={0:.1} cy={3:.1} r=3><title>{4}: {mean:.3} ± {half:.3} cycles</title></circle>",
            x(*load),
            y(mean - half),
            y(mean + half),
            y(*mean),
            number(*load)
        );
    }
    let rows: String = curve.iter().map(row).collect();
    let configuration = escape(&serde_json::to_string_pretty(experiment).unwrap_or_default());
    let name = experiment.network.topology.name();
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Latency against load: {name}</title><style>{STYLE}</style>\
         <h1>Latency against load: {name}</h1><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img \
         aria-label=\"Mean packet latency against offered load\">{svg}\
         <text x={} y={} text-anchor=middle>offered load, packets a node a cycle</text>\
         <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=middle>mean packet latency, cycles</text></svg>\
         <table><tr><th>load<th>packet latency<th>± 95%<th>p99<th>flits accepted</tr>{rows}</table>\
         <details><summary>Configuration</summary><pre>{configuration}</pre></details></html>\n",
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 8.0,
        (HEIGHT - BOTTOM + TOP) / 2.0,
    )
}

fn row(p: &Point) -> String {
    let (r, l) = (&p.result, &p.result.packet_latency);
    if r.saturated {
        return format!("<tr><td>{}<td colspan=4>saturated</tr>", number(p.rate));
    }
    let half = l.half_width_95.map_or_else(|| "–".into(), |h| format!("{h:.3}"));
    format!("<tr><td>{}<td>{:.3}<td>{half}<td>{}<td>{:.5}</tr>", number(p.rate), l.mean, l.p99, r.accepted_flits)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#d0d7de;--line:#0b63c5;--mark:#b3261e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#3a424c;--line:#58a6ff;--mark:#ff7b72}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:820px;margin:2rem auto;padding:0 1rem}\
svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--ink)}.grid{stroke:var(--soft)}\
.mark{stroke:var(--mark);stroke-dasharray:4 4}.half{stroke:var(--line)}circle{fill:var(--line)}\
polyline{fill:none;stroke:var(--line);stroke-width:2}table{border-collapse:collapse;width:100%}\
td,th{text-align:right;padding:.15rem .6rem;border-bottom:1px solid var(--soft)}pre{overflow-x:auto}";
