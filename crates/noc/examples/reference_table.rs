//! The table of errors against the reference curves, in full:
//! `cargo run --release -p baton-noc --example reference_table [-- CYCLES]` (about two minutes a core).

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let cycles = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100_000);
    println!("| curve | load | of saturation | reference | ours | ± (95%) | error |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for curve in &common::CURVES {
        for (load, reference) in curve.points() {
            let part = load / curve.saturation_load();
            let r = curve.at(load, cycles, 1).run().expect("the reference's set-up is valid");
            let (ours, half) = (r.packet_latency.mean, r.packet_latency.half_width_95.unwrap_or(f64::NAN));
            let error = 100.0 * (ours / reference - 1.0);
            let name = curve.name;
            println!("| {name} | {load} | {:.0}% | {reference} | {ours:.3} | {half:.3} | {error:+.2}% |", 100.0 * part);
        }
    }
}
