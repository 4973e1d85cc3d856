//! A chip's picture as SVG: a grid or ring of tiles, dies with their units, units on a bus or
//! crossbar, or, for fixed latencies, clusters of cores.

use baton_chip::Chip;
use baton_chip::config::Plan;
use baton_chip::config::coherent::{Coherent, Topology};
use std::fmt::Write;

/// The side of a tile, and the space between two tiles, in pixels.
const TILE: f64 = 56.0;
const GAP: f64 = 24.0;

/// The whole picture.
pub(super) fn floor(chip: &Chip) -> String {
    match (&chip.coherent, chip.plan()) {
        (Some(coherent), Some(plan)) => match coherent.network.topology {
            Topology::Mesh | Topology::Torus => grid(coherent, &plan),
            Topology::Ring => ring(&plan),
            Topology::Dies => dies(chip, coherent, &plan),
            Topology::Crossbar | Topology::Bus => bar(coherent, &plan),
        },
        _ => clusters(chip),
    }
}

fn svg(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" role=img aria-label=\"Floor plan\">{body}</svg>"
    )
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let _ = write!(out, "<line class={class} x1={:.1} y1={:.1} x2={:.1} y2={:.1} />", from.0, from.1, to.0, to.1);
}

/// A box with a word in it.
fn unit(out: &mut String, class: &str, at: (f64, f64), size: (f64, f64), word: &str, title: &str) {
    let (x, y) = at;
    let (width, height) = size;
    let _ = write!(
        out,
        "<g><title>{title}</title><rect class={class} x={x:.1} y={y:.1} width={width:.1} height={height:.1} rx=4 />\
         <text x={:.1} y={:.1} text-anchor=middle>{word}</text></g>",
        x + width / 2.0,
        y + height / 2.0 + 4.0
    );
}

/// A tile at `at`: its core, and the units at the same router.
fn tile(out: &mut String, at: (f64, f64), node: u32, plan: &Plan) {
    let home = plan.homes.iter().position(|&home| home == node);
    let controller = plan.controllers.iter().position(|&controller| controller == node);
    let mut title = format!("node {node}: core {node}");
    if let Some(home) = home {
        let _ = write!(title, ", home {home}");
    }
    if let Some(controller) = controller {
        let _ = write!(title, ", memory controller {controller}");
    }
    let half = TILE / 2.0;
    let _ = write!(out, "<g><title>{title}</title>");
    let _ = write!(out, "<rect class=tile x={:.1} y={:.1} width={TILE} height={TILE} rx=6 />", at.0, at.1);
    let _ = write!(
        out,
        "<rect class=core x={:.1} y={:.1} width={:.1} height={:.1} rx=3 />",
        at.0 + 4.0,
        at.1 + 4.0,
        TILE - 8.0,
        half - 6.0
    );
    let _ = write!(out, "<text x={:.1} y={:.1} text-anchor=middle>{node}</text>", at.0 + half, at.1 + half - 6.0);
    let small = (half - 6.0, half - 6.0);
    let below = at.1 + half + 2.0;
    for (is, class, x) in [(home.is_some(), "home", at.0 + 4.0), (controller.is_some(), "memory", at.0 + half + 2.0)] {
        if is {
            let _ = write!(
                out,
                "<rect class={class} x={x:.1} y={below:.1} width={:.1} height={:.1} rx=3 />",
                small.0, small.1
            );
        }
    }
    let _ = write!(out, "</g>");
}

fn grid(coherent: &Coherent, plan: &Plan) -> String {
    let (width, height) = (coherent.network.width, coherent.network.height);
    let step = TILE + GAP;
    let margin = GAP;
    let at = |x: u32, y: u32| (margin + f64::from(x) * step, margin + f64::from(y) * step);
    let middle = |x: u32, y: u32| (at(x, y).0 + TILE / 2.0, at(x, y).1 + TILE / 2.0);
    let mut out = String::new();
    for y in 0..height {
        line(&mut out, "link", middle(0, y), middle(width - 1, y));
    }
    for x in 0..width {
        line(&mut out, "link", middle(x, 0), middle(x, height - 1));
    }
    if coherent.network.topology == Topology::Torus {
        // Links that close a torus leave the picture on one side and enter on the other.
        for y in 0..height {
            for (x, outward) in [(0, -1.0), (width - 1, 1.0)] {
                let from = middle(x, y);
                line(&mut out, "link", from, (from.0 + outward * (TILE / 2.0 + GAP * 0.8), from.1));
            }
        }
        for x in 0..width {
            for (y, outward) in [(0, -1.0), (height - 1, 1.0)] {
                let from = middle(x, y);
                line(&mut out, "link", from, (from.0, from.1 + outward * (TILE / 2.0 + GAP * 0.8)));
            }
        }
    }
    for y in 0..height {
        for x in 0..width {
            tile(&mut out, at(x, y), y * width + x, plan);
        }
    }
    svg(2.0 * margin + f64::from(width) * step - GAP, 2.0 * margin + f64::from(height) * step - GAP, &out)
}

/// The position of place `i` of `n` on a circle, the first at the top.
fn on_circle(i: u32, n: u32, centre: (f64, f64), radius: f64) -> (f64, f64) {
    let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n) - std::f64::consts::FRAC_PI_2;
    (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
}

fn ring(plan: &Plan) -> String {
    let n = plan.nodes;
    let radius = (f64::from(n) * (TILE + GAP) / std::f64::consts::TAU).max(TILE);
    let side = 2.0 * (radius + TILE);
    let centre = (side / 2.0, side / 2.0);
    let mut out = format!("<circle class=ring cx={:.1} cy={:.1} r={radius:.1} />", centre.0, centre.1);
    for node in 0..n {
        let (x, y) = on_circle(node, n, centre, radius);
        tile(&mut out, (x - TILE / 2.0, y - TILE / 2.0), node, plan);
    }
    svg(side, side, &out)
}

fn dies(chip: &Chip, coherent: &Coherent, plan: &Plan) -> String {
    let each = chip.core.per_cluster;
    let dies = chip.core.count / each;
    let (homes, controllers) = (plan.homes.len() as u32 / dies, plan.controllers.len() as u32 / dies);
    let cell = (38.0, 26.0);
    let columns = f64::from(each).sqrt().ceil().max(2.0) as u32;
    let rows = each.div_ceil(columns) + homes.div_ceil(columns) + controllers.div_ceil(columns);
    let (width, height) = (f64::from(columns) * (cell.0 + 4.0) + 12.0, f64::from(rows) * (cell.1 + 4.0) + 32.0);
    let radius =
        if dies == 1 { 0.0 } else { (f64::from(dies) * width.hypot(height) * 1.5 / std::f64::consts::TAU).max(width) };
    let (wide, high) = (2.0 * radius + width + 20.0, 2.0 * radius + height + 20.0);
    let centre = |die: u32| on_circle(die, dies, (wide / 2.0, high / 2.0), radius);
    let mut out = String::new();
    for link in &coherent.network.links.0 {
        line(&mut out, "link", centre(link.from), centre(link.to));
    }
    for die in 0..dies {
        let (x, y) = (centre(die).0 - width / 2.0, centre(die).1 - height / 2.0);
        let _ = write!(out, "<rect class=tile x={x:.1} y={y:.1} width={width:.1} height={height:.1} rx=8 />");
        let _ = write!(out, "<text x={:.1} y={:.1}>die {die}</text>", x + 8.0, y + 18.0);
        let mut row = 0;
        for (class, short, what, n) in [
            ("core", "", "core", each),
            ("home", "H", "home", homes),
            ("memory", "M", "memory controller", controllers),
        ] {
            for i in 0..n {
                let number = die * n + i;
                let at = (
                    x + 8.0 + f64::from(i % columns) * (cell.0 + 4.0),
                    y + 26.0 + f64::from(row + i / columns) * (cell.1 + 4.0),
                );
                unit(&mut out, class, at, cell, &format!("{short}{number}"), &format!("{what} {number}"));
            }
            row += n.div_ceil(columns);
        }
    }
    for link in &coherent.network.links.0 {
        let (a, b) = (centre(link.from), centre(link.to));
        // The label is nearer to one end, so that labels of links that cross in the middle stay
        // apart.
        let at = (a.0 + (b.0 - a.0) * 0.42, a.1 + (b.1 - a.1) * 0.42);
        let title = format!("die {} to die {}: {} times network.latency.link", link.from, link.to, link.length);
        unit(&mut out, "label", (at.0 - 13.0, at.1 - 9.0), (26.0, 18.0), &link.length.to_string(), &title);
    }
    svg(wide, high, &out)
}

fn bar(coherent: &Coherent, plan: &Plan) -> String {
    let cell = (52.0, 32.0);
    let cores = plan.cores.len() as u32;
    let below = plan.homes.len() as u32 + plan.controllers.len() as u32;
    let width = f64::from(cores.max(below)) * (cell.0 + 8.0) + 32.0;
    let middle = 100.0;
    let name = coherent.network.topology.name();
    let thick = if coherent.network.topology == Topology::Bus { 12.0 } else { 44.0 };
    let mut out = String::new();
    let place = |i: u32, n: u32| 16.0 + (width - 32.0) * (f64::from(i) + 0.5) / f64::from(n) - cell.0 / 2.0;
    let mut put = |class: &str, word: String, title: String, x: f64, y: f64| {
        line(&mut out, "link", (x + cell.0 / 2.0, y + cell.1 / 2.0), (x + cell.0 / 2.0, middle));
        unit(&mut out, class, (x, y), cell, &word, &title);
    };
    for core in 0..cores {
        put("core", core.to_string(), format!("core {core}"), place(core, cores), 16.0);
    }
    for i in 0..below {
        let homes = plan.homes.len() as u32;
        let y = 2.0 * middle - 16.0 - cell.1;
        if i < homes {
            put("home", format!("H{i}"), format!("home {i}"), place(i, below), y);
        } else {
            let i_m = i - homes;
            put("memory", format!("M{i_m}"), format!("memory controller {i_m}"), place(i, below), y);
        }
    }
    unit(&mut out, "bar", (8.0, middle - thick / 2.0), (width - 16.0, thick), name, name);
    svg(width, 2.0 * middle, &out)
}

fn clusters(chip: &Chip) -> String {
    let core = &chip.core;
    let socket = core.per_cluster * core.clusters_per_socket;
    let cell = (38.0, 26.0);
    let width = f64::from(core.per_cluster.min(16)) * (cell.0 + 4.0) + 12.0;
    let height = f64::from(core.per_cluster.div_ceil(16)) * (cell.1 + 4.0) + 32.0;
    let mut out = String::new();
    let clusters = core.count / core.per_cluster;
    for cluster in 0..clusters {
        let (x, y) = (8.0, 8.0 + f64::from(cluster) * (height + 8.0));
        let _ = write!(out, "<rect class=tile x={x:.1} y={y:.1} width={width:.1} height={height:.1} rx=8 />");
        let first = cluster * core.per_cluster;
        let _ =
            write!(out, "<text x={:.1} y={:.1}>socket {} cluster {cluster}</text>", x + 8.0, y + 18.0, first / socket);
        for i in 0..core.per_cluster {
            let at = (x + 8.0 + f64::from(i % 16) * (cell.0 + 4.0), y + 26.0 + f64::from(i / 16) * (cell.1 + 4.0));
            unit(&mut out, "core", at, cell, &(first + i).to_string(), &format!("core {}", first + i));
        }
    }
    svg(width.max(200.0) + 16.0, f64::from(clusters) * (height + 8.0) + 16.0, &out)
}
