//! The page around a chip's picture: one HTML file, no script, no network.

use baton_chip::Chip;
use baton_chip::config::coherent::{Coherent, Level, Network, Topology};
use std::fmt::Write;

/// The name of the network: `8×8 mesh`, `8 dies`.
pub(super) fn network_name(chip: &Chip, network: &Network) -> String {
    match network.topology {
        Topology::Mesh | Topology::Torus => {
            format!("{}×{} {}", network.width, network.height, network.topology.name())
        }
        Topology::Dies => format!("{} dies", chip.core.count / chip.core.per_cluster),
        other => other.name().to_owned(),
    }
}

/// `32 KiB`, `1.5 MiB`.
fn bytes(n: u64) -> String {
    let (n, unit) = match n {
        n if n >= 1 << 20 => (n as f64 / (1 << 20) as f64, "MiB"),
        n => (n as f64 / 1024.0, "KiB"),
    };
    format!("{} {unit}", (n * 100.0).round() / 100.0)
}

/// The whole page.
pub(super) fn page(chip: &Chip) -> String {
    let name = escape(&chip.name);
    let mut rows = String::new();
    let mut row = |what: &str, is: String| {
        let _ = write!(rows, "<tr><th>{what}<td>{}</tr>", escape(&is));
    };
    let core = &chip.core;
    let window = if core.rob == 0 {
        "in order, one access at a time".to_owned()
    } else {
        format!(
            "{} wide, ROB {}, load queue {}, store queue {}, store buffer {}",
            core.width, core.rob, core.load_queue, core.store_queue, core.store_buffer
        )
    };
    row("cores", format!("{} at {:.2} GHz; {window}", core.count, core.clock.0 as f64 / 1e9));
    row("NUMA nodes", chip.numa_nodes().to_string());
    match &chip.coherent {
        None => row("memory", "fixed latencies".to_owned()),
        Some(coherent) => parts(&mut row, chip, coherent),
    }
    let legend = "<p><span class=core></span> core <span class=home></span> home: directory and shared bank \
                  <span class=memory></span> memory controller</p>";
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{name}: floor plan</title><style>{STYLE}</style><h1>{name}</h1>{}{}\
         <table>{rows}</table><details><summary>Chip file</summary><pre>{}</pre></details></html>\n",
        super::floor::floor(chip),
        if chip.coherent.is_some() { legend } else { "" },
        escape(&chip.to_toml()),
    )
}

fn parts(row: &mut impl FnMut(&str, String), chip: &Chip, coherent: &Coherent) {
    let line = chip.cache.line_bytes;
    let level = |level: &Level| {
        format!(
            "{}, {} ways × {} sets of {line} B, {}, {}, {} MSHRs",
            bytes(level.size_bytes),
            level.ways,
            level.sets(line),
            level.latency,
            level.replacement.name(),
            level.mshrs
        )
    };
    row("L1, a core", level(&coherent.l1));
    if let Some(l2) = &coherent.l2 {
        row("L2, a core", level(l2));
    }
    if let Some(shared) = &coherent.shared {
        row("shared, a home", format!("{}, {}", level(&shared.bank), shared.inclusion.name()));
    }
    let (home, dram, network) = (&coherent.home, &coherent.dram, &coherent.network);
    let places = if home.places == 0 { "any number of".to_owned() } else { home.places.to_string() };
    row(
        "homes",
        format!(
            "{}, lines {}, {}, {places} requests taken in, one each {}; directory {}, {}",
            home.banks,
            home.placement.name(),
            home.policy.name(),
            home.cycles,
            coherent.directory.kind.text(),
            coherent.directory.latency
        ),
    );
    row("atomics", coherent.atomics.name().to_owned());
    row(
        "memory",
        format!(
            "{} controllers, each {} banks with rows of {}, row hit {}, miss {}, {} B a cycle ({:.1} GB/s)",
            dram.controllers,
            dram.banks,
            bytes(dram.row_bytes),
            dram.row_hit,
            dram.row_miss,
            dram.bytes_per_cycle,
            dram.bytes_per_cycle * chip.core.clock.0 as f64 / 1e9
        ),
    );
    row(
        "network",
        format!(
            "{} at {:.2} GHz, {} virtual channels a class × {} flits of {} B, messages of {} and {} flits",
            network_name(chip, network),
            network.clock.0 as f64 / 1e9,
            network.vcs,
            network.router.buffer,
            network.flit_bytes,
            network.control_flits,
            network.data_flits
        ),
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#d0d7de;--tile:#f4f6f8;--core:#cfe3fb;--home:#d3efd8;--memory:#f9d9b8;--link:#8c97a3}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#3a424c;--tile:#1c2229;--core:#1f4a7c;--home:#1f5c33;--memory:#7a4a16;--link:#7d8894}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:1100px;margin:2rem auto;padding:0 1rem}\
svg{width:100%;height:auto;display:block;margin:1rem 0}svg text{font-size:13px;fill:var(--ink)}\
.tile{fill:var(--tile);stroke:var(--link)}.core{fill:var(--core)}.home{fill:var(--home)}.memory{fill:var(--memory)}\
.bar,.label{fill:var(--tile);stroke:var(--link)}.link{stroke:var(--link);stroke-width:2}.ring{fill:none;stroke:var(--link);stroke-width:2}\
span{display:inline-block;width:1em;height:1em;vertical-align:-.15em;border-radius:3px;margin-left:1em}\
span.core{background:var(--core)}span.home{background:var(--home)}span.memory{background:var(--memory)}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--soft);vertical-align:top}\
th{white-space:nowrap;font-weight:600}pre{overflow-x:auto}";
