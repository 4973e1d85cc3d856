//! What must change no result: the order in which routers are stepped, the inner loop that steps
//! them, an arbiter of ranks without marked packets, a copy of a network.

use baton_noc::arbiter::{ARBITERS, Arbiter, Ranked, RoundRobin};
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Injector, Pattern};
use baton_noc::{Config, Delivered, EndpointBound, Header, Loops, Network, Pipeline, Rank, with_arbiter};

/// Runs `cycles` cycles of `flows` and then drains the network. Returns every delivery, sorted by
/// arrival and packet.
fn deliveries<A: Arbiter>(mut net: Network<A>, flows: &[Flow], cycles: u64, shuffle: Option<u64>) -> Vec<Delivered> {
    if let Some(seed) = shuffle {
        net.shuffle_step_order(seed);
    }
    let mut injectors: Vec<Injector> =
        (0..).zip(flows).map(|(i, f)| Injector::new(f, net.graph(), net.config().classes, 11, i).unwrap()).collect();
    let mut got: Vec<Delivered> = vec![];
    // Bounded endpoints have a free place again four cycles after each arrival.
    let mut released = 0;
    for cycle in 0..cycles + 20_000 {
        if cycle < cycles {
            injectors.iter_mut().for_each(|injector| _ = injector.poll(&mut net));
        } else if net.in_flight() == 0 {
            break;
        }
        net.step(&mut got);
        while let Some(d) = got.get(released).filter(|d| d.arrived.0 + 4 <= cycle) {
            net.release(d.dst, d.header.class);
            released += 1;
        }
    }
    assert_eq!(net.in_flight(), 0, "everything arrives");
    got.sort_by_key(|d| (d.arrived, d.id));
    got
}

fn round_robin(config: &Config) -> Network<RoundRobin> {
    Network::with_arbiter(config, RoundRobin).unwrap()
}

fn flow(rate: f64, packet: u32) -> Flow {
    Flow { rate, packet, ..Flow::default() }
}

fn mesh(side: u32) -> Config {
    Config { topology: TopologyConfig::Mesh { size: [side; 2] }, ..Config::default() }
}

/// Returns configurations and flows that differ in the parts of the router that they use: virtual
/// channels, buffers, pipelines, classes, bounded endpoints.
fn set_ups() -> Vec<(Config, Vec<Flow>)> {
    let two = |class| Flow { header: Header::of_class(class), ..flow(0.03, 3) };
    vec![
        (mesh(8), vec![flow(0.38, 1)]),
        (mesh(5), vec![flow(0.06, 8)]),
        (Config { vcs: 3, buffer: 2, ..mesh(4) }, vec![flow(0.3, 1), flow(0.05, 5)]),
        (Config { pipeline: Pipeline::Nonspeculative, ..mesh(6) }, vec![flow(0.1, 2)]),
        (Config { vcs: 12, ..mesh(4) }, vec![flow(0.6, 1)]),
        (Config { classes: 2, ..mesh(4) }, vec![two(0), two(1)]),
        // A chip's network: bounded endpoints, and responses that need no place.
        (Config { classes: 2, endpoint_places: 1, response_class: 1, ..mesh(4) }, vec![two(0), two(1)]),
        // The network of a chip with devices: some endpoints are bounded for a class of their own.
        (
            Config { classes: 2, places: vec![EndpointBound { nodes: vec![3, 9], class: 0, places: 1 }], ..mesh(4) },
            vec![two(0), two(1)],
        ),
        (Config { buffer: 1, shared_buffer: 8, ..mesh(4) }, vec![flow(0.06, 4)]),
        (
            Config { topology: TopologyConfig::Torus { size: [5, 4] }, ..Config::default() },
            vec![Flow { pattern: Pattern::Tornado, ..flow(0.2, 1) }],
        ),
    ]
}

#[test]
fn order_of_stepping_changes_nothing() {
    for (config, flows) in set_ups() {
        let plain = deliveries(round_robin(&config), &flows, 600, None);
        assert!(plain.len() > 100);
        for seed in [1, 2] {
            assert_eq!(plain, deliveries(round_robin(&config), &flows, 600, Some(seed)), "{config:?}");
        }
    }
}

/// With every arbiter, sends the same packets, some of them marked, through the lean loop and
/// through the general one.
#[test]
fn both_loops_agree() {
    fn check<A: Arbiter>(config: &Config, arbiter: A, flows: &[Flow]) {
        let lean = deliveries(Network::with_arbiter(config, arbiter.clone()).unwrap(), flows, 1500, None);
        let general = Network::with_loops(config, arbiter, Loops::General).unwrap();
        assert_eq!(lean, deliveries(general, flows, 1500, None), "{config:?}");
    }
    for (config, mut flows) in set_ups() {
        let class = (config.classes - 1) as u8;
        let marked = Header { class, rank: Rank::new(3 << 8 | 1) };
        flows.push(Flow { header: marked, ..flow(0.01, 2) });
        for (_, arbiter) in ARBITERS {
            with_arbiter!(Config { arbiter, ..config.clone() }, |arbiter| check(&config, arbiter, &flows));
        }
        check(&config, Ranked { outranks_speculation: false, ..Ranked::default() }, &flows);
    }
}

#[test]
fn ranked_without_ranks_is_round_robin() {
    for (config, flows) in set_ups() {
        let plain = deliveries(round_robin(&config), &flows, 1500, None);
        for outranks_speculation in [false, true] {
            let ranked = Ranked { outranks_speculation, ..Ranked::default() };
            assert_eq!(
                plain,
                deliveries(Network::with_arbiter(&config, ranked).unwrap(), &flows, 1500, None),
                "{config:?}"
            );
        }
    }
}

#[test]
fn a_copy_goes_on_alike() {
    let config = mesh(4);
    let mut net = Network::with_arbiter(&config, RoundRobin).unwrap();
    let mut injector = Injector::new(&flow(0.4, 1), net.graph(), 1, 5, 0).unwrap();
    let mut sink: Vec<Delivered> = vec![];
    for _ in 0..300 {
        injector.poll(&mut net);
        net.step(&mut sink);
    }
    let (mut copy, mut copied) = (net.clone(), sink.clone());
    while net.in_flight() > 0 {
        net.step(&mut sink);
    }
    while copy.in_flight() > 0 {
        copy.step(&mut copied);
    }
    assert_eq!(sink, copied);
}
