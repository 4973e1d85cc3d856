//! A chip's picture in characters: for a terminal, and for the head of a chip file.

use baton_chip::Chip;
use baton_chip::config::Plan;
use baton_chip::config::coherent::{Coherent, Topology};
use std::fmt::Write;

/// The picture, some lines.
pub(super) fn sketch(chip: &Chip) -> String {
    let mut out = format!("{}\n\n", super::summary(chip));
    match (&chip.coherent, chip.plan()) {
        (Some(coherent), Some(plan)) => match coherent.network.topology {
            Topology::Mesh | Topology::Torus => grid(&mut out, coherent, &plan),
            Topology::Dies => dies(&mut out, chip, coherent, &plan),
            Topology::Ring | Topology::Crossbar | Topology::Bus => line(&mut out, coherent, &plan),
        },
        _ => clusters(&mut out, chip),
    }
    out
}

/// Draws each router as a character: `o` a core with a home, `.` a core without one; with a memory
/// controller it is `M` or `m`.
fn grid(out: &mut String, coherent: &Coherent, plan: &Plan) {
    let (width, height) = (coherent.network.width, coherent.network.height);
    let (mut home, mut controller) = (false, false);
    for y in 0..height {
        let tile = |x: u32| {
            let node = y * width + x;
            match (plan.homes.contains(&node), plan.controllers.contains(&node)) {
                (true, true) => "M",
                (true, false) => "o",
                (false, true) => "m",
                (false, false) => ".",
            }
        };
        let row: Vec<&str> = (0..width).map(tile).collect();
        (home, controller) = (home || row.contains(&"."), controller || row.contains(&"m"));
        let _ = writeln!(out, "{}", row.join("-"));
        if y + 1 < height {
            let _ = writeln!(out, "{}", vec!["|"; width as usize].join(" "));
        }
    }
    let _ = write!(out, "\no core and home, M with a memory controller");
    if home {
        let _ = write!(out, "; . core without a home");
    }
    if controller {
        let _ = write!(out, "; m core without a home, with a controller");
    }
    if coherent.network.topology == Topology::Torus {
        let _ = write!(out, "; rows and columns are closed to rings");
    }
    let _ = writeln!(out);
}

fn dies(out: &mut String, chip: &Chip, coherent: &Coherent, plan: &Plan) {
    let dies = chip.core.count / chip.core.per_cluster;
    let share = |all: &[u32], die: u32| {
        let n = all.len() as u32 / dies;
        range(die * n, n)
    };
    for die in 0..dies {
        let links = coherent.network.links.0.iter().filter_map(|link| match (link.from == die, link.to == die) {
            (true, _) => Some(format!("{} ({})", link.to, link.length)),
            (_, true) => Some(format!("{} ({})", link.from, link.length)),
            _ => None,
        });
        let links: Vec<String> = links.collect();
        let links = if links.is_empty() { "none".to_owned() } else { links.join(", ") };
        let (cores, homes, controllers) =
            (share(&plan.cores, die), share(&plan.homes, die), share(&plan.controllers, die));
        let _ = writeln!(
            out,
            "die {die}: cores {cores}, homes {homes}, controllers {controllers}; links to die (length) {links}"
        );
    }
}

fn range(first: u32, n: u32) -> String {
    if n == 1 { first.to_string() } else { format!("{first}-{}", first + n - 1) }
}

fn line(out: &mut String, coherent: &Coherent, plan: &Plan) {
    let name = coherent.network.topology.name();
    let list = |what: &str, nodes: &[u32]| match nodes {
        [first, .., last] if last - first + 1 == nodes.len() as u32 => format!("{what} on nodes {first}-{last}"),
        nodes => format!("{what} on node {}", nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let _ = writeln!(out, "one {name}: {}", list("cores", &plan.cores));
    let _ = writeln!(out, "     {:1$} {2}", "", name.len(), list("homes", &plan.homes));
    let _ = writeln!(out, "     {:1$} {2}", "", name.len(), list("controllers", &plan.controllers));
}

fn clusters(out: &mut String, chip: &Chip) {
    let core = &chip.core;
    let socket = core.per_cluster * core.clusters_per_socket;
    for first in (0..core.count).step_by(core.per_cluster as usize) {
        let _ = writeln!(
            out,
            "socket {} cluster {}: cores {}",
            first / socket,
            first / core.per_cluster,
            range(first, core.per_cluster)
        );
    }
}
