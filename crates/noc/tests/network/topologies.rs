//! Every pair of topology and routing is free of deadlock or rejected; where it runs, every packet
//! arrives.

use baton_noc::allocator::AllocatorKind;
use baton_noc::arbiter::{Age, Matrix, RoundRobin};
use baton_noc::experiment::{Experiment, Outcome};
use baton_noc::explain::{Look, explain};
use baton_noc::routing::{ROUTINGS, RoutingKind};
use baton_noc::topology::{GraphFile, GraphLink, TopologyConfig};
use baton_noc::traffic::Flow;
use baton_noc::{Config, Delivered, Header, Network, NocError, Packet, Pipeline, Rng};
use baton_units::NodeId;
use proptest::prelude::*;

fn topologies() -> Vec<TopologyConfig> {
    vec![
        TopologyConfig::Mesh { size: [4, 3] },
        TopologyConfig::Torus { size: [5, 4] },
        TopologyConfig::Torus { size: [2, 2] },
        TopologyConfig::Ring { nodes: 7 },
        TopologyConfig::Cmesh { size: [3, 2], concentration: 3 },
        TopologyConfig::FlattenedButterfly { size: [3, 4], concentration: 2 },
        TopologyConfig::Crossbar { nodes: 12 },
        TopologyConfig::Bus { nodes: 6 },
        graph(9, 4, 1),
    ]
}

/// Builds a connected graph of two-way links: a random tree and `more` further links.
fn graph(routers: u32, more: u32, seed: u64) -> TopologyConfig {
    let mut rng = Rng::new(seed, 1, 1);
    let link = |from: u32, to: u32, length: u64| GraphLink { from, to, length: 1 + length as u32, one_way: false };
    let mut links: Vec<GraphLink> = (1..routers).map(|r| link(r, rng.below(r.into()) as u32, rng.below(3))).collect();
    for _ in 0..more {
        let (a, b) = (rng.below(routers.into()) as u32, rng.below(routers.into()) as u32);
        if a != b {
            links.push(link(a, b, 0));
        }
    }
    TopologyConfig::Graph(GraphFile { routers, nodes: (0..routers).chain([0]).collect(), links })
}

/// Sends random packets between all nodes. Asserts that all arrive where they should, and that all
/// credits return.
fn everything_arrives<A: baton_noc::arbiter::Arbiter>(
    config: &Config,
    arbiter: A,
    packets: u64,
) -> Result<(), NocError> {
    let mut net = Network::with_arbiter(config, arbiter)?;
    let mut rng = Rng::new(9, 2, 2);
    let mut got: Vec<Delivered> = vec![];
    let mut sent = vec![];
    for _ in 0..packets {
        let mut draw = |n: u32| rng.below(n.into()) as u32;
        let (src, dst) = (NodeId(draw(net.nodes())), NodeId(draw(net.nodes())));
        let header = Header::of_class(draw(config.classes) as u8);
        let packet = Packet { src, dst, flits: 1 + draw(9), header, tag: u64::from(dst.0) };
        sent.push(packet);
        net.inject(packet)?;
        if draw(3) == 0 {
            net.step(&mut got);
        }
    }
    for _ in 0..200_000 {
        if net.next_activity().is_none() {
            break;
        }
        net.step(&mut got);
    }
    assert_eq!((got.len() as u64, net.in_flight()), (packets, 0), "{config:?}");
    assert_eq!(net.next_activity(), None, "credits come to rest");
    net.conserved().unwrap();
    for d in &got {
        let p = sent[d.id.0 as usize];
        assert_eq!((d.src, d.dst, d.flits, d.tag), (p.src, p.dst, p.flits, p.tag));
    }
    Ok(())
}

#[test]
fn every_pair_runs_or_is_refused() {
    let mut ran = 0;
    for topology in topologies() {
        for (name, routing) in ROUTINGS {
            let config = Config { topology: topology.clone(), routing, vcs: 8, buffer: 2, ..Config::default() };
            match everything_arrives(&config, RoundRobin, 300) {
                Ok(()) => ran += 1,
                // Only the routing `table` without a file, which takes shortest paths, may be
                // rejected as able to deadlock: around a ring, such paths can wait for each other.
                Err(NocError::Deadlock { cycle, .. }) => {
                    assert_eq!(routing, RoutingKind::Table, "{topology:?}: {cycle}");
                    assert!(cycle.contains(" waits for router "), "{cycle}");
                }
                Err(NocError::Value { key, .. }) => assert_eq!(key, "routing", "{topology:?} {name}"),
                Err(other) => panic!("{topology:?} {name}: {other}"),
            }
        }
    }
    assert!(ran >= 45, "{ran} pairs ran");
}

#[test]
fn rings_without_datelines_are_refused_by_name() {
    for topology in [TopologyConfig::Torus { size: [4, 4] }, TopologyConfig::Ring { nodes: 6 }] {
        let config = Config { topology, routing: RoutingKind::Table, ..Config::default() };
        let error = Network::with_arbiter(&config, RoundRobin).err().unwrap().to_string();
        assert!(error.contains("`table` can deadlock") && error.contains("--allow-deadlock"), "{error}");
    }
}

#[test]
fn a_deadlock_made_on_purpose_is_found_and_explained() {
    let network = Config {
        topology: TopologyConfig::Torus { size: [4, 4] },
        routing: RoutingKind::Table,
        vcs: 1,
        allow_deadlock: true,
        ..Config::default()
    };
    let traffic = vec![Flow { rate: 0.3, packet: 8, ..Flow::default() }];
    let experiment = Experiment { network, traffic, cycles: 20_000, ..Experiment::default() };
    assert_eq!(experiment.run().unwrap().outcome, Outcome::Deadlocked);
    let found = explain(&experiment, Look::default()).unwrap();
    assert!(found.still_for > 10_000);
    assert!(found.deadlock.len() >= 2, "{found:?}");
    // Each packet waits for the next, and the last for the first.
    let number = |line: &str, after: &str| {
        let rest = &line[line.rfind(after).unwrap() + after.len()..];
        rest.split_whitespace().next().unwrap().to_owned()
    };
    for (i, line) in found.deadlock.iter().enumerate() {
        let next = &found.deadlock[(i + 1) % found.deadlock.len()];
        assert_eq!(number(line, "which packet "), number(next.split(" in router").next().unwrap(), "packet "));
    }
    // With datelines the same load moves, and no ring is found.
    let sound = Config { vcs: 2, routing: RoutingKind::Xy, ..experiment.network.clone() };
    let found = explain(&Experiment { network: sound, ..experiment }, Look::default()).unwrap();
    assert!(found.deadlock.is_empty() && found.still_for < 100);
}

#[test]
fn a_full_endpoint_refuses_requests_and_takes_responses() {
    let config = Config {
        topology: TopologyConfig::Mesh { size: [3, 1] },
        classes: 2,
        endpoint_places: 2,
        response_class: 1,
        ..Config::default()
    };
    let mut net = Network::with_arbiter(&config, RoundRobin).unwrap();
    let mut got: Vec<Delivered> = vec![];
    let packet = |class, tag| Packet { src: NodeId(0), dst: NodeId(2), flits: 1, header: Header::of_class(class), tag };
    for tag in 0..30 {
        net.inject(packet(0, tag)).unwrap();
    }
    net.run_to(baton_units::Cycles(300), &mut got);
    assert_eq!(got.len(), 2, "two places, two requests");
    // The other packets wait in the network, where arbiters can act: the buffers of the ejection
    // channel are full.
    assert_eq!(net.channel_views().filter(|c| c.to_endpoint && c.to == 2).map(|c| c.held).sum::<u32>(), 3 * 4);
    net.inject(packet(1, 99)).unwrap();
    net.run_to(baton_units::Cycles(400), &mut got);
    assert_eq!(got.last().unwrap().tag, 99, "a response passes");
    for _ in 0..28 {
        net.release(NodeId(2), 0);
        net.run_to(net.now() + baton_units::Cycles(10), &mut got);
    }
    assert_eq!((got.len(), net.in_flight()), (31, 0));
}

proptest! {
    #![proptest_config(baton_needs::property!(40))]

    #[test]
    fn every_packet_arrives_on_random_networks(
        routers in 1u32..14, more in 0u32..8, seed in 0u64..1000, vcs in 1u32..10, buffer in 1u32..6,
        shared in 0u32..5, classes in 1u32..4, nonspeculative in any::<bool>(), allocator in 0usize..4, arbiter in 0u8..3,
    ) {
        let kinds = [AllocatorKind::InputFirst, AllocatorKind::OutputFirst, AllocatorKind::Islip, AllocatorKind::Wavefront];
        let config = Config {
            topology: graph(routers, more, seed),
            vcs: vcs.max(classes),
            buffer,
            shared_buffer: shared,
            classes,
            pipeline: if nonspeculative { Pipeline::Nonspeculative } else { Pipeline::Speculative },
            allocator: kinds[allocator],
            ..Config::default()
        };
        match arbiter {
            0 => everything_arrives(&config, RoundRobin, 120).unwrap(),
            1 => everything_arrives(&config, Matrix, 120).unwrap(),
            _ => everything_arrives(&config, Age, 120).unwrap(),
        }
    }
}
