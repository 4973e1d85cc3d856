//! Requests and replies, limits on packets under way, batches, and endpoints that take time: exact
//! where nothing is in the way, conserved everywhere.

use baton_noc::arbiter::RoundRobin;
use baton_noc::experiment::{Experiment, Outcome, RunResult};
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Pattern, Reply};
use baton_noc::{Config, Delivered, EndpointBound, Header, Network, Packet, Pipeline};
use baton_units::{Cycles, NodeId};
use proptest::prelude::*;

/// Runs two neighbours that send requests to each other. Buffers are deep enough that no packet
/// waits for a credit.
fn pair(flow: Flow, service: u32) -> RunResult {
    let network =
        Config { topology: TopologyConfig::Mesh { size: [2, 1] }, classes: 2, vcs: 4, buffer: 16, ..Config::default() };
    let e = Experiment { network, traffic: vec![flow], endpoint_service: service, cycles: 5_400, seed: 3 };
    e.run().unwrap()
}

fn asks(outstanding: u32, batch: u64, reply: u32) -> Flow {
    let reply = Some(Reply { class: 1, packet: reply });
    Flow { pattern: Pattern::Neighbor, rate: 1.0, outstanding, batch, reply, ..Flow::default() }
}

/// Returns the latency of a packet of `flits` flits over two routers.
fn one_way(flits: u64) -> u64 {
    3 * 2 + 2 + flits - 1
}

#[test]
fn a_round_trip_without_load_is_exact() {
    for (service, flits) in [(0, 1), (0, 5), (7, 5), (30, 1)] {
        let r = pair(asks(1, 0, flits), service);
        // The request arrives, is served, and the reply is created in the next cycle.
        let expected = one_way(1) + 1 + u64::from(service) + one_way(flits.into());
        let trip = r.round_trip.unwrap();
        assert_eq!((trip.latency.mean, trip.latency.max), (expected as f64, expected), "{service} {flits}");
        // The next request is created in the cycle after the reply arrived.
        assert!((trip.rate * (expected + 1) as f64 - 1.0).abs() < 0.005, "{}", trip.rate);
        assert_eq!(r.classes.len(), 2);
        assert_eq!((r.classes[0].packet_latency.max, r.classes[1].packet_latency.max), (8, one_way(flits.into())));
    }
}

#[test]
fn throughput_is_what_is_outstanding_over_the_round_trip() {
    let trip = (one_way(1) + 1 + one_way(1)) as f64;
    for bound in [1u32, 2, 4, 8] {
        let r = pair(asks(bound, 0, 1), 0).round_trip.unwrap();
        let expected = f64::from(bound) / (trip + 1.0);
        assert!((r.rate / expected - 1.0).abs() < 0.005, "{bound}: {} {expected}", r.rate);
        // By Little's law, the rate times the mean latency is the mean number of requests under
        // way, which may not exceed the limit.
        assert!(r.rate * r.latency.mean <= f64::from(bound));
    }
    // On a loaded network the limit holds as well.
    let network = Config { classes: 2, topology: TopologyConfig::Mesh { size: [4, 4] }, ..Config::default() };
    let flow = Flow { pattern: Pattern::Uniform, ..asks(3, 0, 5) };
    let e = Experiment { network, traffic: vec![flow], cycles: 5_000, ..Experiment::default() };
    let r = e.run().unwrap();
    assert_eq!(r.outcome, Outcome::Settled, "a closed loop does not saturate");
    let under_way = r.round_trip.as_ref().map(|t| t.rate * t.latency.mean).unwrap();
    assert!((2.0..=3.0).contains(&under_way), "{under_way}");
}

#[test]
fn a_batch_ends_when_its_last_reply_is_there() {
    let trip = one_way(1) + 1 + one_way(1);
    let r = pair(asks(4, 100, 1), 0);
    // There are 25 rounds of four requests in a row, one round every trip + 1 cycles.
    assert_eq!(r.runtime, Some(24 * (trip + 1) + 3 + trip + 1));
    assert_eq!((r.packets, r.outcome), (2 * 100 * 2, Outcome::Settled));
    // Without replies, a packet completes when it arrives.
    let r = pair(Flow { reply: None, ..asks(1, 10, 1) }, 0);
    assert_eq!((r.packets, r.runtime), (20, Some(9 * (one_way(1) + 1) + one_way(1) + 1)));
    // Without a limit, each node creates one packet a cycle, whether or not earlier ones have
    // arrived.
    let r = pair(Flow { reply: None, ..asks(0, 50, 1) }, 0);
    assert_eq!((r.packets, r.runtime), (100, Some(49 + one_way(1) + 1)));
}

#[test]
fn a_hot_endpoint_serves_one_packet_in_its_time() {
    // Sixteen nodes send requests to node 0, which takes ten cycles for each and holds two at a
    // time.
    let network = Config {
        topology: TopologyConfig::Mesh { size: [4, 4] },
        classes: 2,
        endpoint_places: 2,
        response_class: 1,
        ..Config::default()
    };
    let flow = Flow { pattern: Pattern::Hotspot, hot_share: 1.0, hot_nodes: vec![0], ..asks(2, 0, 1) };
    let e = Experiment { network, traffic: vec![flow], endpoint_service: 10, cycles: 10_000, seed: 1 };
    let r = e.run().unwrap();
    let served = r.round_trip.as_ref().unwrap().rate * 16.0;
    assert!((served / 0.1 - 1.0).abs() < 0.02, "{served} a cycle");
    // Most requests wait in the network, not in the endpoint: they are under way for far longer
    // than two services.
    assert!(r.classes[0].packet_latency.mean > 100.0 && r.classes[1].packet_latency.mean < 40.0);
    // With places for all requests in the endpoint, the requests wait there and no longer in the
    // network.
    let wide = Config { endpoint_places: 64, ..e.network.clone() };
    let r = Experiment { network: wide, ..e }.run().unwrap();
    assert!(r.classes[0].packet_latency.mean < 40.0, "{}", r.classes[0].packet_latency.mean);
}

#[test]
fn an_endpoint_with_places_to_spare_changes_nothing() {
    let base = Experiment { cycles: 3_000, ..Experiment::default() };
    let bounded = Config { endpoint_places: 1000, ..base.network.clone() };
    let (a, b) = (base.run().unwrap(), Experiment { network: bounded, ..base }.run().unwrap());
    assert_eq!((a.packet_latency.mean, a.packets, a.flit_hops), (b.packet_latency.mean, b.packets, b.flit_hops));
}

#[test]
fn what_is_wrong_is_said() {
    let says = |network: Config, flow: Flow, service: u32, what: &str| {
        let e = Experiment { network, traffic: vec![flow], endpoint_service: service, ..Experiment::default() };
        let error = e.run().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let two = Config { classes: 2, ..Config::default() };
    says(Config::default(), asks(1, 0, 1), 0, "`reply.class` = 1: expected a class from 0 to 0");
    says(two.clone(), Flow { header: Header::of_class(1), ..asks(1, 0, 1) }, 0, "another class than the requests'");
    says(two.clone(), asks(1, 0, 0), 0, "`reply.packet` = 0");
    says(two.clone(), Flow { rate: 0.0, ..asks(1, 5, 1) }, 0, "`rate` = 0: expected above 0 for a batch");
    says(Config { endpoint_places: 1, ..two.clone() }, asks(1, 0, 1), 0, "`response_class` = 4294967295");
    let own = |nodes: &[u32], class, places| Config {
        places: vec![EndpointBound { nodes: nodes.to_vec(), class, places }],
        ..two.clone()
    };
    says(own(&[64], 0, 1), asks(1, 0, 1), 0, "`places[0].nodes` = 64: expected nodes from 0 to 63");
    says(own(&[0], 2, 1), asks(1, 0, 1), 0, "`places[0].class` = 2: expected a class from 0 to 1");
    says(own(&[0], 0, 0), asks(1, 0, 1), 0, "`places[0].places` = 0");
    says(own(&[0], 1, 1), asks(1, 0, 1), 0, "`places[0].class` = 1: expected a class without replies");
    says(two, asks(1, 0, 1), 20_000, "`endpoint_service` = 20000");
}

/// Builds a network in which one endpoint of sixteen is bounded, in one class of two.
fn one_bounded(pipeline: Pipeline, places: u32) -> Network<RoundRobin> {
    let own = EndpointBound { nodes: vec![5], class: 0, places };
    let topology = TopologyConfig::Mesh { size: [4, 4] };
    let config = Config { topology, classes: 2, vcs: 2, pipeline, places: vec![own], ..Config::default() };
    Network::with_arbiter(&config, RoundRobin).unwrap()
}

fn packet(src: u32, dst: u32, class: u8) -> Packet {
    Packet { src: NodeId(src), dst: NodeId(dst), flits: 2, header: Header::of_class(class), tag: u64::from(src) }
}

#[test]
fn a_full_endpoint_backs_up_into_routers_and_comes_to_rest() {
    for pipeline in [Pipeline::Speculative, Pipeline::Nonspeculative] {
        let mut network = one_bounded(pipeline, 3);
        for src in (0..16).filter(|src| *src != 5) {
            for _ in 0..4 {
                network.inject(packet(src, 5, 0)).unwrap();
            }
        }
        let mut came: Vec<Delivered> = vec![];
        let last = network.run_to_arrival(Cycles(1 << 40), &mut came);
        assert!(last.is_some() && came.len() == 1);
        // Two more packets get a place at node 5. The others wait in routers and sources, until no
        // router and no source can do anything.
        while let Some(at) = network.next_activity() {
            network.run_to(Cycles(at.0 + 1), &mut came);
            assert!(at.0 < 1 << 16, "it does not come to rest");
        }
        assert_eq!((came.len(), network.in_flight()), (3, 57), "{pipeline:?}");
        let in_routers: u32 = network.channel_views().filter(|view| !view.to_endpoint).map(|view| view.held).sum();
        assert!(in_routers > 20, "{in_routers} flits wait in routers");
        network.conserved().unwrap();
        // A packet of the other class goes on. One of class 0 for node 14 waits in node 15's source
        // queue, behind packets for node 5.
        network.inject(packet(4, 5, 1)).unwrap();
        network.inject(packet(15, 14, 0)).unwrap();
        network.run_to(Cycles(network.now().0 + 100), &mut came);
        assert_eq!(came.len(), 4, "to node 5 in class 1, while node 15's own queue has its packets for node 5 before");
        // Each place that is freed lets one packet in; at the end all have arrived.
        for n in 5..62 {
            network.release(NodeId(5), 0);
            network.run_to(Cycles(network.now().0 + 100), &mut came);
            let bounded = came.iter().filter(|packet| packet.dst == NodeId(5) && packet.header.class == 0).count();
            assert_eq!(bounded, n - 1, "{pipeline:?}");
        }
        assert_eq!(network.in_flight(), 0);
        let mut seen = [0; 16];
        came.iter().filter(|packet| packet.header.class == 0).for_each(|packet| seen[packet.src.0 as usize] += 1);
        assert_eq!(seen[15], 5);
    }
}

#[test]
fn a_bound_that_is_never_reached_changes_nothing() {
    let base = Experiment { cycles: 3_000, ..Experiment::default() };
    let places = vec![EndpointBound { nodes: vec![0, 9], class: 0, places: 1000 }];
    let bounded = Config { places, ..base.network.clone() };
    let (a, b) = (base.run().unwrap(), Experiment { network: bounded, ..base }.run().unwrap());
    assert_eq!((a.packet_latency.mean, a.packets, a.flit_hops), (b.packet_latency.mean, b.packets, b.flit_hops));
    // Bounding every endpoint singly gives the same result as one bound for all.
    let all = |network: Config| {
        let flow = Flow { pattern: Pattern::Uniform, ..asks(3, 0, 2) };
        let e = Experiment { network, traffic: vec![flow], endpoint_service: 9, cycles: 2_000, seed: 5 };
        let r = e.run().unwrap();
        (r.packets, r.packet_latency.mean, r.flit_hops)
    };
    let network = Config { topology: TopologyConfig::Mesh { size: [4, 4] }, classes: 2, ..Config::default() };
    let own = vec![EndpointBound { nodes: (0..16).collect(), class: 0, places: 2 }];
    let one_by_one = all(Config { places: own, response_class: 1, ..network.clone() });
    assert_eq!(one_by_one, all(Config { endpoint_places: 2, response_class: 1, ..network }));
}

proptest! {
    #![proptest_config(baton_needs::property!(24))]

    /// In any network, every request of a batch gets its reply, and the run ends.
    #[test]
    fn every_request_is_answered(
        which in 0usize..6, outstanding in 0u32..5, batch in 1u64..30, request in 1u32..6, reply in 1u32..6,
        places in 0u32..3, service in 0u32..12, buffer in 1u32..5, hot in any::<bool>(), seed in 0u64..1000,
    ) {
        let topology = [
            TopologyConfig::Mesh { size: [3, 3] },
            TopologyConfig::Torus { size: [4, 3] },
            TopologyConfig::Ring { nodes: 5 },
            TopologyConfig::Cmesh { size: [2, 2], concentration: 2 },
            TopologyConfig::Crossbar { nodes: 6 },
            TopologyConfig::Bus { nodes: 4 },
        ][which].clone();
        let network = Config {
            topology, buffer, classes: 2, vcs: 8, endpoint_places: places, response_class: 1, seed, ..Config::default()
        };
        let nodes = network.topology.build().unwrap().nodes.len() as u64;
        let pattern = if hot { Pattern::Hotspot } else { Pattern::Uniform };
        let answer = Some(Reply { class: 1, packet: reply });
        let flow = Flow { pattern, rate: 0.5, packet: request, outstanding, batch, reply: answer, ..Flow::default() };
        let e = Experiment { network, traffic: vec![flow], endpoint_service: service, cycles: 1000, seed };
        let r = e.run().unwrap();
        prop_assert_eq!(r.outcome, Outcome::Settled);
        prop_assert_eq!(r.packets, 2 * nodes * batch);
        prop_assert_eq!(r.round_trip.as_ref().map(|t| t.replies), Some(nodes * batch));
        prop_assert_eq!(&r, &e.run().unwrap(), "the same seed, the same figures");
    }
}
