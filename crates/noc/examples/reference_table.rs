//! Prints the full table of errors against the reference curves, and can draw the same data as a
//! picture: `cargo run --release -p baton-noc --example reference_table [-- CYCLES [PICTURE.svg]]`.
//! Takes some minutes.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write;

/// One measured point of a curve. `part` is the load divided by the saturation load, `reference`
/// and `ours` are mean latencies in cycles, `half` is half the width of our 95% interval. `ours` is
/// NaN if our run did not settle.
struct Row {
    load: f64,
    part: f64,
    reference: f64,
    ours: f64,
    half: f64,
}

fn measure(curve: &common::Curve, cycles: u64) -> Vec<Row> {
    let one = |(load, reference): (f64, f64)| {
        let r = curve.at(load, cycles, 1).run().expect("the reference's set-up is valid");
        let (mean, half) = (r.packet_latency.mean, r.packet_latency.half_width_95.unwrap_or(f64::NAN));
        let ours = if r.saturated { f64::NAN } else { mean };
        Row { load, part: load / curve.saturation_load(), reference, ours, half }
    };
    curve.points().into_iter().map(one).collect()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let cycles = args.next().and_then(|a| a.parse().ok()).unwrap_or(60_000);
    let picture = args.next();
    // Each curve runs on a thread of its own; the figures do not depend on the threads.
    let tables: Vec<Vec<Row>> = std::thread::scope(|s| {
        let runs: Vec<_> = common::CURVES.iter().map(|c| s.spawn(move || measure(c, cycles))).collect();
        runs.into_iter().map(|r| r.join().expect("a run")).collect()
    });
    println!("| curve | load | of saturation | reference | ours | ± (95%) | error |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (curve, rows) in common::CURVES.iter().zip(&tables) {
        for r in rows {
            let (part, error) = (100.0 * r.part, 100.0 * (r.ours / r.reference - 1.0));
            let (name, load, reference) = (curve.name, r.load, r.reference);
            println!("| {name} | {load} | {part:.0}% | {reference} | {:.3} | {:.3} | {error:+.2}% |", r.ours, r.half);
        }
    }
    println!("\n| curve | up to 80% of saturation: largest error | up to 95% |\n| --- | --- | --- |");
    for (curve, rows) in common::CURVES.iter().zip(&tables) {
        let most = |from: f64, to: f64| {
            let inside = rows.iter().filter(|r| r.part > from && r.part <= to);
            inside.map(|r| (100.0 * (r.ours / r.reference - 1.0)).abs()).fold(0.0, f64::max)
        };
        println!("| {} | {:.2}% | {:.2}% |", curve.name, most(0.0, 0.80), most(0.80, 0.95));
    }
    if let Some(file) = picture {
        std::fs::write(&file, svg(&tables)).expect("the picture can be written");
    }
}

const WIDE: f64 = 300.0;
const HIGH: f64 = 210.0;

/// Draws one small plot per curve: the reference points as rings, our results as a line.
fn svg(tables: &[Vec<Row>]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"11\"><style>:root{{--ink:#1b1f24;--soft:#d0d7de;--line:#0b63c5;--ring:#c2410c}}\
         @media(prefers-color-scheme:dark){{:root{{--ink:#e6edf3;--soft:#3a424c;--line:#58a6ff;--ring:#ff9b6a}}}}\
         text{{fill:var(--ink)}}.g{{stroke:var(--soft)}}.l{{fill:none;stroke:var(--line);stroke-width:1.6}}\
         .r{{fill:none;stroke:var(--ring);stroke-width:1.4}}.h{{font-weight:600}}.a{{text-anchor:end}}\
         .m{{text-anchor:middle}}</style>",
        3.0 * WIDE,
        2.0 * HIGH + 24.0
    );
    for (i, (curve, rows)) in common::CURVES.iter().zip(tables).enumerate() {
        let (left, top) = ((i % 3) as f64 * WIDE, (i / 3) as f64 * HIGH);
        panel(&mut out, left, top, curve, rows);
    }
    let y = 2.0 * HIGH + 14.0;
    let _ = writeln!(
        out,
        "<circle class=\"r\" cx=\"40\" cy=\"{0}\" r=\"3.4\"/><text x=\"50\" y=\"{y}\">reference</text>\
         <path class=\"l\" d=\"M120 {0}h24\"/><text x=\"150\" y=\"{y}\">Baton</text>\
         <text x=\"{1}\" y=\"{y}\" class=\"a\">across: offered load, packets a node a cycle; up: mean packet latency, cycles</text>\
         </svg>",
        y - 4.0,
        3.0 * WIDE - 10.0
    );
    out
}

fn panel(out: &mut String, left: f64, top: f64, curve: &common::Curve, rows: &[Row]) {
    let floor = rows.first().map_or(1.0, |r| r.reference);
    let (most_x, most_y) = (curve.saturation.1 * 1.04, 4.0 * floor);
    let x = |v: f64| left + 38.0 + v / most_x * (WIDE - 52.0);
    let y = |v: f64| top + HIGH - 24.0 - v / most_y * (HIGH - 52.0);
    let _ = write!(out, "<text class=\"h\" x=\"{:.0}\" y=\"{:.0}\">{}</text>", x(0.0), top + 16.0, title(curve));
    for k in 0..=4 {
        let v = floor * f64::from(k);
        let (x0, x1, at) = (x(0.0), x(most_x), y(v));
        let _ = write!(out, "<path class=\"g\" d=\"M{x0:.1} {at:.1}H{x1:.1}\"/>");
        let _ = write!(out, "<text class=\"a\" x=\"{:.1}\" y=\"{:.1}\">{v:.0}</text>", x0 - 6.0, at + 4.0);
    }
    for k in 0..=4 {
        let v = curve.saturation_load() * f64::from(k) / 4.0;
        let digits = if most_x < 0.1 { 3 } else { 2 };
        let _ = write!(out, "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\">{v:.digits$}</text>", x(v), top + HIGH - 8.0);
    }
    let line: Vec<String> =
        rows.iter().filter(|r| r.ours <= most_y).map(|r| format!("{:.1} {:.1}", x(r.load), y(r.ours))).collect();
    let _ = write!(out, "<path class=\"l\" d=\"M{}\"/>", line.join("L"));
    for r in rows.iter().filter(|r| r.reference <= most_y) {
        let _ = write!(out, "<circle class=\"r\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.4\"/>", x(r.load), y(r.reference));
    }
}

fn title(curve: &common::Curve) -> String {
    let flits = if curve.packet == 1 { "1 flit".to_owned() } else { format!("{} flits", curve.packet) };
    format!("{0}×{0} {1:?}, {flits}", curve.side, curve.pattern)
}
