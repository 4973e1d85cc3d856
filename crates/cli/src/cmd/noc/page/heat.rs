//! The map of a network over time: links, buffers and waiting by router, and one packet's journey.

use super::document::{document, escape};
use baton_noc::explain::{Explanation, Journey};
use baton_noc::topology::Graph;
use serde_json::json;
use std::fmt::Write;

/// The content of the page.
pub(crate) struct Map<'a> {
    /// A line that says what was run.
    pub(crate) title: &'a str,
    /// The findings of the run.
    pub(crate) found: &'a Explanation,
    /// The positions of the routers.
    pub(crate) graph: &'a Graph,
    /// The configuration, as text.
    pub(crate) configuration: String,
}

/// The whole page.
pub(crate) fn map(m: &Map<'_>) -> String {
    let e = m.found;
    let mut body = format!(
        "<p class=note>{} cycles, {} packets created, {} delivered; the oldest on its way is {} cycles old.</p>",
        e.cycles, e.packets.0, e.packets.1, e.oldest
    );
    if !e.deadlock.is_empty() {
        let lines: String = e.deadlock.iter().map(|l| format!("<li>{}", escape(l))).collect();
        let _ = write!(
            body,
            "<h2 class=bad>Deadlock: nothing has moved for {} cycles; each waits for the next</h2><ol>{lines}</ol>",
            e.still_for
        );
    }
    body.push_str(
        "<div class=time><button id=play type=button aria-label=\"Play\">▶</button>\
         <input id=at type=range min=0 value=0 aria-label=\"Piece of the run\"><output id=when></output></div>\
         <svg id=course viewBox=\"0 0 900 64\" role=img aria-label=\"Flits in all buffers over time\"></svg>\
         <div class=maps>\
         <figure><figcaption>Flits in each router's input buffers <span id=key0></span></figcaption>\
         <svg id=held role=img aria-label=\"Flits by router\"></svg></figure>\
         <figure><figcaption>Virtual channels that wait for a channel or a credit <span id=key1></span></figcaption>\
         <svg id=waiting role=img aria-label=\"Waiting by router\"></svg></figure></div>\
         <p class=note>Lines between routers: flits a cycle over each link, thin and pale to thick and red (1 flit a cycle), \
         the two directions side by side. Rest the pointer on a router or a link for its figures.</p>",
    );
    if let Some(j) = &e.journey {
        body.push_str(&journey(j));
    }
    let rows: String = e
        .links
        .iter()
        .take(10)
        .map(|l| format!("<tr><td>{}<td>{} → {}<td>{:.3}</tr>", l.kind, l.from, l.to, l.load))
        .collect();
    let _ = write!(
        body,
        "<h2>Busiest channels</h2><div class=wide><table><tr><th>kind<th>from → to<th>flits a cycle</tr>{rows}</table>\
         </div><details><summary>Configuration</summary><pre>{}</pre></details>\
         <script id=data type=application/json>{}</script><script>{SCRIPT}</script>",
        escape(&m.configuration),
        data(m)
    );
    document(m.title, STYLE, &body)
}

/// Values rounded to three decimals, which are enough for a colour.
fn short(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| (v * 1000.0).round() / 1000.0).collect()
}

fn data(m: &Map<'_>) -> String {
    let links: Vec<usize> = (0..m.found.links.len()).filter(|l| m.found.links[*l].kind == "link").collect();
    let ends: Vec<[u32; 2]> = links.iter().map(|l| [m.found.links[*l].from, m.found.links[*l].to]).collect();
    let slices: Vec<_> = m
        .found
        .slices
        .iter()
        .map(|s| {
            let loads: Vec<f64> = links.iter().map(|l| s.links[*l]).collect();
            json!({ "from": s.from, "to": s.to, "held": short(&s.held), "waiting": short(&s.waiting), "links": short(&loads) })
        })
        .collect();
    let grid = m.graph.grid.as_ref().map(|g| [g.width, g.height]);
    let all = json!({ "routers": m.graph.routers, "grid": grid, "links": ends, "slices": slices });
    // A closing tag inside the text would end the script element.
    all.to_string().replace("</", "<\\/")
}

/// The way of a packet as bars in time, and in words.
fn journey(j: &Journey) -> String {
    let (Some(first), Some(last)) = (j.stages.first(), j.stages.last()) else { return String::new() };
    let (from, to) = (first.from, last.to.max(first.from + 1));
    let mut places: Vec<&str> = vec![];
    for s in &j.stages {
        if places.last() != Some(&s.place.as_str()) {
            places.push(&s.place);
        }
    }
    let (left, wide, row) = (150.0, 900.0, 22.0);
    let x = |cycle: u64| left + (cycle - from) as f64 / (to - from) as f64 * (wide - left - 8.0);
    let high = places.len() as f64 * row;
    let mut svg = format!("<svg viewBox=\"0 0 {wide} {}\" role=img aria-label=\"The packet's way\">", high + 24.0);
    let step = [1usize, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
    let step = step.into_iter().find(|s| (to - from) as usize / s <= 14);
    for cycle in (from..=to).step_by(step.unwrap_or(10_000)) {
        let at = x(cycle);
        let _ = write!(svg, "<line class=grid x1={at:.1} x2={at:.1} y1=0 y2={high} />");
        let _ = write!(svg, "<text x={at:.1} y={} text-anchor=middle>{cycle}</text>", high + 16.0);
    }
    let mut at = 0;
    for s in &j.stages {
        if places[at] != s.place {
            at += 1;
            let _ = write!(svg, "<line class=grid x1=0 x2={wide} y1={0} y2={0} />", at as f64 * row);
        }
        let (y, x0, x1) = (at as f64 * row, x(s.from), x(s.to));
        let class = if s.waits { "waits" } else { "moves" };
        let _ = write!(
            svg,
            "<rect class={class} x={x0:.1} y={:.1} width={:.1} height={} rx=2><title>cycles {} to {}: {}, {}</title></rect>",
            y + 3.0,
            (x1 - x0 - 1.0).max(1.0),
            row - 6.0,
            s.from,
            s.to - 1,
            escape(&s.place),
            escape(&s.what)
        );
    }
    for (i, place) in places.iter().enumerate() {
        let y = i as f64 * row + 15.0;
        let _ = write!(svg, "<text x={} y={y} text-anchor=end>{}</text>", left - 10.0, escape(place));
    }
    svg.push_str("</svg>");
    let waited: u64 = j.stages.iter().filter(|s| s.waits).map(|s| s.to - s.from).sum();
    let ends = match (j.src, j.dst, j.flits) {
        (Some(src), Some(dst), Some(1)) => format!(" from node {src} to node {dst}, 1 flit"),
        (Some(src), Some(dst), Some(flits)) => format!(" from node {src} to node {dst}, {flits} flits"),
        _ => " has not arrived".to_owned(),
    };
    let rows: String = j
        .stages
        .iter()
        .map(|s| {
            let class = if s.waits { " class=waiting" } else { "" };
            let (place, what) = (escape(&s.place), escape(&s.what));
            format!("<tr{class}><td>{}<td>{}<td class=left>{place}<td class=left>{what}</tr>", s.from, s.to - 1)
        })
        .collect();
    format!(
        "<h2>Packet {}{ends}: {} cycles, {waited} of them waiting</h2><p class=note><span class=\"dot moves\"></span>moves \
         <span class=\"dot waits\"></span>waits</p><div class=wide><div class=way>{svg}</div></div>\
         <details><summary>In words</summary><div class=wide><table><tr><th>from<th>to<th class=left>where\
         <th class=left>what</tr>{rows}</table></div></details>",
        j.packet,
        to - from
    )
}

const STYLE: &str = "\
:root{--cold:#eef3f8;--hot:#0b4f9e;--edge:#8c959f;--pale:#cfd6dd;--red:#c62828}\
@media(prefers-color-scheme:dark){:root{--cold:#1b2430;--hot:#79c0ff;--edge:#57606a;--pale:#2d3742;--red:#ff6b5e}}\
.note{color:var(--dim);font-size:13px;margin:.2rem 0 .8rem}.bad{color:var(--mark)}\
.maps{display:grid;grid-template-columns:1fr 1fr;gap:1.2rem}@media(max-width:720px){.maps{grid-template-columns:1fr}}\
figure{margin:0}figcaption{font-size:13px;margin-bottom:.3rem;min-height:3em}\
.time{display:flex;gap:.8rem;align-items:center}.time input{flex:1;min-width:0;accent-color:var(--c0)}\
.time output{min-width:12em;text-align:right;font-variant-numeric:tabular-nums;font-size:13px}\
button{font:inherit;color:var(--ink);background:none;border:1px solid var(--soft);border-radius:6px;padding:.1rem .6rem;\
cursor:pointer}.cell{stroke:var(--edge)}.number{font-size:11px;text-anchor:middle;pointer-events:none}\
.key{display:inline-block;width:5em;height:.7em;vertical-align:baseline;margin:0 .4em;border:1px solid var(--edge);\
background:linear-gradient(90deg,var(--cold),var(--hot))}.bar{fill:var(--pale);cursor:pointer}.bar.now{fill:var(--c0)}\
.grid{stroke:var(--soft);stroke-width:.6}.moves{fill:var(--c0);background:var(--c0)}\
.waits{fill:var(--c1);background:var(--c1)}.dot{display:inline-block;width:.8em;height:.8em;border-radius:2px;\
margin:0 .4em 0 .8em}.left{text-align:left}.waiting td{color:var(--c1)}.way{min-width:640px}";

const SCRIPT: &str = include_str!("heat.js");
