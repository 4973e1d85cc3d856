//! The figures of a run, as text and as JSON.

use crate::ui;
use baton_noc::energy::{Area, Energy};
use baton_noc::experiment::{Experiment, Latency, Outcome, RunResult};
use serde_json::{Value, json};

/// One JSON object with every figure and the full configuration. Means of a run that did not settle
/// are null.
pub(crate) fn json(experiment: &Experiment, result: &RunResult, energy: &Energy, area: &Area, seconds: f64) -> Value {
    let mut value = serde_json::to_value(result).unwrap_or_default();
    if result.saturated {
        let nothing = |latency: &mut Value| {
            latency["mean"] = Value::Null;
            latency["half_width_95"] = Value::Null;
        };
        nothing(&mut value["packet_latency"]);
        nothing(&mut value["network_latency"]);
        if let Some(trip) = value["round_trip"].as_object_mut() {
            nothing(&mut trip["latency"]);
        }
        for class in value["classes"].as_array_mut().into_iter().flatten() {
            nothing(&mut class["packet_latency"]);
        }
    }
    value["energy"] = json!(energy);
    value["energy_unit"] = json!("pJ");
    value["area"] = json!(area);
    value["area_unit"] = json!("µm²");
    value["host_seconds"] = json!(seconds);
    value["configuration"] = json!(experiment);
    value
}

fn latency(l: &Latency) -> String {
    let interval = l.half_width_95.map(|h| format!(" ± {h:.3}")).unwrap_or_default();
    format!("{:.3}{interval} cycles   median {}, 99% {}, most {}", l.mean, l.p50, l.p99, l.max)
}

/// A few lines of text. A run that did not settle shows no mean.
pub(crate) fn text(r: &RunResult, energy: &Energy, area: &Area) -> String {
    let mut rows = vec![];
    let mut row = |what: &str, figure: String| rows.push(vec![what.to_owned(), figure]);
    match r.outcome {
        Outcome::Settled => {
            if let Some(cycles) = r.runtime {
                row("runtime", format!("{cycles} cycles until the last of the batch was there"));
            }
            if let Some(t) = &r.round_trip {
                row("round trip", latency(&t.latency));
                row("", format!("{:.5} replies a node a cycle", t.rate));
            }
            row("packet latency", latency(&r.packet_latency));
            row("network latency", latency(&r.network_latency));
            row("hops", format!("{:.4} routers", r.hops));
            row("offered", format!("{:.5} packets a node a cycle", r.offered_packets));
            row("accepted", format!("{:.5} flits a node a cycle", r.accepted_flits));
            for c in &r.classes {
                row(&format!("class {}", c.class), latency(&c.packet_latency));
            }
        }
        Outcome::Saturated => row(
            "saturated",
            "the mean latency did not settle below 1,000 cycles: it grows with the length of the run".into(),
        ),
        Outcome::Deadlocked => row(
            "deadlocked",
            "packets are in flight and nothing moves; `baton noc explain` with the same options says why".into(),
        ),
    }
    row("oldest packet", format!("{} cycles", r.oldest));
    let hops = r.flit_hops.max(1) as f64;
    let (total, clock) = (energy.total.0 / 1e6, (energy.clock.0 + energy.leakage.0) / 1e6);
    row("energy", format!("{total:.3} µJ, {clock:.3} of it clock and leakage"));
    row("", format!("{:.2} pJ a flit and router moved", (energy.total.0 - energy.clock.0 - energy.leakage.0) / hops));
    let mm2 = |v: f64| v / 1e6;
    row(
        "area",
        format!(
            "{:.3} mm² of routers, {:.3} of it buffers; links {:.3} mm² of wires",
            mm2(area.routers),
            mm2(area.buffers),
            mm2(area.link_wires)
        ),
    );
    row("run", format!("{} cycles ({} of warm-up), {} flit-hops", r.cycles, r.warm_up, r.flit_hops));
    ui::table(&["", ""], &rows).trim_start().to_owned()
}
