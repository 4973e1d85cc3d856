//! The plot: one self-contained HTML file. Bars for the predicted time and competition overhead of
//! each lock, and the same figures as a table. Whiskers show a time's 95% interval if it has one,
//! otherwise the least and greatest over seeds. No script, no network; the reader's settings choose
//! light or dark.

use super::text::{
    alone, assumed, figure, interval, interval_name, less, memory_bound, memory_bound_name, ms, range, remark,
    three_numbers, variant, varies,
};
use baton_chip::Chip;
use baton_replay::Prediction;
use baton_replay::predict::{Predicted, Spread};
use baton_replay::variant::Variant;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#6a7079;--line:#d9dce1;--bar:#3b6fb6;--own:#8a8f98;--warn:#a33}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#9aa1ab;--line:#3a3f47;--bar:#7aa7e6;--own:#8a8f98;--warn:#f08a7a}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);margin:2rem auto;max-width:60rem;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}p,li{max-width:46rem}.soft{color:var(--soft)}
.warn{border-left:4px solid var(--warn);padding-left:.8rem}svg{width:100%;max-width:38rem;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}.bar{fill:var(--bar)}.own{fill:var(--own)}.beyond{fill:var(--bar);opacity:.35}
.whisker{stroke:var(--ink);stroke-width:1.4;fill:none}.grid{stroke:var(--line)}
.scroll{overflow-x:auto}table{border-collapse:collapse}td,th{white-space:nowrap;padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
td:first-child,th:first-child,td:nth-child(2),th:nth-child(2),td:last-child{text-align:left}";

/// The whole page.
pub(crate) fn page(prediction: &Prediction, command: &[String], chip: &Chip) -> String {
    let command = escape(&command.join(" "));
    let mut body = format!(
        "<h1>What if: {command}</h1>\n<p>{} threads on {} cores of chip <b>{}</b>, recorded with {}.</p>\n\
         <p>Self-check: {}. {}{:.1}% of the events cannot be replayed.</p>\n",
        prediction.threads,
        prediction.cpus,
        escape(&chip.name),
        escape(&prediction.recorded_lock.replace('`', "")),
        three_numbers(prediction),
        sentence(&alone(prediction)),
        prediction.not_replayable_share * 100.0,
    );
    if !prediction.trustworthy {
        let reasons: String = prediction.reasons.iter().map(|why| format!("<li>{}</li>", escape(why))).collect();
        let _ = writeln!(body, "<div class=warn><b>Not trustworthy</b><ul>{reasons}</ul></div>");
    }
    let results = &prediction.results;
    body += &plot("Predicted time of the program, ms", results, likely);
    body += &plot("Competition overhead, added over threads, ms", results, |row| row.overhead_ns);
    body += &table(results);
    body += "<h2>Assumptions</h2><ul>";
    for note in std::iter::once(assumed(results)).filter(|note| !note.is_empty()) {
        let _ = write!(body, "<li>{}</li>", escape(note));
    }
    for note in &prediction.notes {
        let _ = write!(body, "<li>{}</li>", escape(note));
    }
    body += "<li>Whiskers of times: the 95% interval; on another machine's chip, and of overhead, least and greatest over seeds. Nothing is fitted to the trace.</li></ul>\n<h2>Chip</h2><details><summary>The whole configuration</summary><pre>";
    body += &escape(&chip.to_toml());
    body += "</pre></details>";
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>What if: {command}</title>\n<style>{STYLE}</style>\n<body>\n{body}\n</body></html>\n"
    )
}

/// A text with a capital and a full stop; an empty text stays empty.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}. ", first.to_uppercase(), letters.as_str()))
}

/// A lock that takes more than this many times the recorded lock's time is off the scale, because
/// its bar would make all other bars too short to read.
const BEYOND: u64 = 5;

/// The time of a row, with the ends of its 95% interval if it has one.
fn likely(row: &Predicted) -> Spread {
    row.interval_ns.map_or(row.time_ns, |of| Spread {
        low: of.low,
        high: of.high.unwrap_or(of.low.max(row.time_ns.high)),
        ..row.time_ns
    })
}

/// Horizontal bars with whiskers, each under its name, so that the drawing fits a narrow page at a size that can be read.
fn plot(title: &str, rows: &[Predicted], value: fn(&Predicted) -> Spread) -> String {
    const ROW: f64 = 34.0;
    const LEFT: f64 = 8.0;
    const WIDTH: f64 = 360.0;
    let bearable = rows.first().map_or(u64::MAX, |own| own.time_ns.median.saturating_mul(BEYOND));
    let on_scale = |row: &Predicted| row.time_ns.median <= bearable;
    let most = rows.iter().filter(|row| on_scale(row)).map(|row| value(row).high).max().unwrap_or(0).max(1) as f64;
    let x = |ns: u64| LEFT + (ns as f64 / most).min(1.0) * WIDTH;
    let height = ROW * rows.len() as f64 + 34.0;
    let mut out = format!(
        "<h2>{title}</h2><div><svg viewBox=\"0 0 {:.0} {height:.0}\" role=img aria-label=\"{title}\">",
        LEFT + WIDTH + 72.0
    );
    let step = step(most);
    for ns in (0..).map(|n| n as f64 * step).take_while(|ns| *ns <= most) {
        let _ = write!(
            out,
            "<line class=grid x1={0:.1} x2={0:.1} y1=0 y2={1:.0} /><text class=soft x={0:.1} y={2:.0} text-anchor=middle>{3}</text>",
            x(ns as u64),
            height - 30.0,
            height - 12.0,
            ns * 1e-6
        );
    }
    for (i, row) in rows.iter().enumerate() {
        let spread = value(row);
        let (top, mid) = (ROW * i as f64 + 16.0, ROW * i as f64 + 23.0);
        let class = match i {
            0 => "own",
            _ if on_scale(row) => "bar",
            _ => "beyond",
        };
        let label = match &row.variant {
            _ if i == 0 => "recorded".to_owned(),
            None => format!("{} · {}", row.lock, row.wait),
            Some(Variant::Asymmetric(cores)) => {
                format!("{} · {} · {} · {} memory-bound", row.lock, row.wait, cores.policy, memory_bound(row))
            }
            Some(variant) => format!("{} · {} · {}", row.lock, row.wait, variant.name()),
        };
        let end = if on_scale(row) { x(spread.median) } else { LEFT + WIDTH };
        let _ = write!(
            out,
            "<text x={LEFT} y={:.0}>{}</text><rect class={class} x={LEFT} y={top:.0} width={:.1} height=14 />",
            top - 4.0,
            escape(&label),
            (end - LEFT).max(0.5),
        );
        let (low, mut high) = (x(spread.low), x(spread.high));
        if on_scale(row) {
            let _ = write!(
                out,
                "<path class=whisker d=\"M{low:.1} {mid}H{high:.1}M{low:.1} {0}V{1}M{high:.1} {0}V{1}\"/>",
                mid - 4.0,
                mid + 4.0,
            );
        } else {
            high = end;
        }
        let _ = write!(
            out,
            "<text x={:.1} y={:.0}>{}{}{}</text>",
            high + 6.0,
            mid + 4.0,
            if on_scale(row) { "" } else { "→ " },
            if row.cut_off == 0 { "" } else { "≥ " },
            ms(spread.median),
        );
    }
    out + "</svg></div>\n"
}

/// Distance of grid lines: 1, 2 or 5 times a power of ten, so that there are four to nine lines
/// beside the one at 0.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 4.0).log10().floor());
    [5.0, 2.0, 1.0].map(|n| n * power).into_iter().find(|step| most / step >= 4.0).unwrap_or(power)
}

fn table(rows: &[Predicted]) -> String {
    let (varies, memory) = (varies(rows), memory_bound_name(rows));
    let mut out = format!(
        "<h2>Figures</h2><div class=scroll><table><tr><th>lock<th>wait<th>time ms<th>{}<th>speed-up\
         <th>waiting ms<th>critical sections ms<th>overhead ms<th>over seeds<th>acquisitions<th>contended",
        interval_name(rows)
    );
    if let Some(varies) = varies {
        let _ = write!(out, "<th>{varies}<th>less time<th>less overhead");
    }
    if let Some(memory) = memory {
        let _ = write!(out, "<th>{memory}");
    }
    out += "<th>remark";
    for row in rows {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{:.2}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}",
            escape(&row.lock),
            escape(&row.wait),
            figure(row, row.time_ns),
            interval(row),
            row.speedup,
            ms(row.blocked_ns.median),
            ms(row.sections_ns.median),
            figure(row, row.overhead_ns),
            range(row.overhead_ns),
            row.counts.acquisitions,
            row.counts.contended,
        );
        if varies.is_some() {
            let [time, overhead] = row.variant.as_ref().map_or([None; 2], Variant::less);
            let _ = write!(out, "<td>{}<td>{}<td>{}", escape(variant(row)), less(time), less(overhead));
        }
        if memory.is_some() {
            let _ = write!(out, "<td>{}", memory_bound(row));
        }
        let _ = write!(out, "<td>{}", escape(&remark(row)));
    }
    out + "</table></div>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn grid_lines_are_round() {
        for (most, expected) in [(4.0, 1.0), (9.0, 2.0), (21.0, 5.0), (100.0, 20.0), (2.5e8, 5e7)] {
            assert!((step(most) / expected - 1.0).abs() < 1e-9, "{most}: {}", step(most));
        }
    }
}
