//! Compares with queueing theory, where it is exact. (The unit tests of the allocators compare
//! iSLIP on virtual output queues.)

use baton_noc::Config;
use baton_noc::experiment::{Experiment, RunResult};
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Pattern};

fn run(network: Config, flow: Flow, cycles: u64) -> RunResult {
    Experiment { network, traffic: vec![flow], cycles, seed: 5, ..Experiment::default() }.run().unwrap()
}

#[test]
fn one_link_is_geo_d_1() {
    // Two nodes send to each other. Each injection link is a server of L cycles with Bernoulli
    // arrivals, and buffers are so deep that nothing behind it holds it up. The mean wait is ρ(L −
    // 1) / (2(1 − ρ)).
    for (flits, rate) in [(1, 0.7), (4, 0.1), (4, 0.2), (8, 0.05), (8, 0.1)] {
        let network =
            Config { topology: TopologyConfig::Mesh { size: [2, 1] }, vcs: 8, buffer: 32, ..Config::default() };
        let flow = Flow { pattern: Pattern::Neighbor, rate, packet: flits, ..Flow::default() };
        let r = run(network, flow, 60_000);
        let (l, rho) = (f64::from(flits), f64::from(flits) * rate);
        let expected = rho * (l - 1.0) / (2.0 * (1.0 - rho));
        let wait = r.packet_latency.mean - r.network_latency.mean;
        let slack = 3.0 * r.packet_latency.half_width_95.unwrap() + 1e-9;
        assert!((wait - expected).abs() <= slack.max(0.02 * expected), "{flits} flits at {rate}: {wait} {expected}");
        // Behind the link nothing is in the way: the latency is that of two routers and the
        // packet's length.
        assert!((r.network_latency.mean - (3.0 * 2.0 + 2.0 + l - 1.0)).abs() < 1e-9);
    }
}

/// Returns the flits per port per cycle of a crossbar under full uniform load.
fn crossbar(ports: u32) -> f64 {
    let network =
        Config { topology: TopologyConfig::Crossbar { nodes: ports }, vcs: 1, buffer: 16, ..Config::default() };
    // Each source creates one packet per cycle, so it always has one. No mean settles, so the load
    // is read from the links.
    let found = baton_noc::explain::explain(
        &Experiment {
            network,
            traffic: vec![Flow { rate: 1.0, ..Flow::default() }],
            cycles: 8_000,
            ..Experiment::default()
        },
        baton_noc::explain::Look::default(),
    );
    let links = found.unwrap().links;
    links.iter().filter(|l| l.kind == "ejection").map(|l| l.load).sum::<f64>() / f64::from(ports)
}

#[test]
fn fifo_inputs_saturate_where_karol_hluchyj_and_morgan_say() {
    // Throughput of a crossbar with first-in first-out inputs, from IEEE Trans. Comm. 35(12), 1987,
    // table I: 0.6553 with 4 ports, 0.6184 with 8, and 2 − √2 with many.
    for (ports, expected) in [(4, 0.6553), (8, 0.6184), (32, 2.0 - 2f64.sqrt())] {
        let got = crossbar(ports);
        assert!((got / expected - 1.0).abs() < 0.02, "{ports} ports: {got}");
    }
}
