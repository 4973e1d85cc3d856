//! Who goes first: OCOR's figures 8 and 9, ages, starvation.

use baton_noc::allocator::AllocatorKind;
use baton_noc::arbiter::{ARBITERS, Age, Arbiter, ArbiterKind, Fixed, Matrix, Ranked, RoundRobin};
use baton_noc::experiment::Experiment;
use baton_noc::ocor::{Mark, local_priority};
use baton_noc::topology::{GraphFile, GraphLink, TopologyConfig};
use baton_noc::traffic::{Flow, Pattern};
use baton_noc::{Config, Delivered, Header, Network, Packet, Rank, with_arbiter};
use baton_units::{Cycles, NodeId};

/// Many nodes on one router that all send to one node behind a single link.
fn funnel(senders: u32) -> Config {
    let nodes = (0..senders).map(|_| 0).chain([1]).collect();
    let link = GraphLink { from: 0, to: 1, length: 1, one_way: false };
    // Buffers so deep that no packet is given a virtual channel whose credits are used up, and overtaken meanwhile.
    let topology = TopologyConfig::Graph(GraphFile { routers: 2, nodes, links: vec![link] });
    Config { topology, buffer: 16, ..Config::default() }
}

fn marked(level: u8, progress: u16) -> Header {
    Header { class: 0, rank: Mark { level, progress }.rank() }
}

fn order<A: Arbiter>(arbiter: A, headers: &[Header]) -> Vec<u64> {
    let n = headers.len() as u32;
    let mut net = Network::with_arbiter(&funnel(n), arbiter).unwrap();
    for (i, header) in (0..).zip(headers) {
        let packet = Packet { src: NodeId(i), dst: NodeId(n), flits: 1, header: *header, tag: i.into() };
        net.inject(packet).unwrap();
    }
    let mut got: Vec<Delivered> = vec![];
    net.run_to(baton_units::Cycles(500), &mut got);
    got.iter().map(|d| d.tag).collect()
}

#[test]
fn figure_8_order_of_departure() {
    // Threads θ with progress a and η with progress b, a < b, with 1, 2 and 3 tries left, and a wake-up of progress
    // b, in the order in which they meet the router: slower progress first, then fewer tries, the wake-up last.
    // Levels here are one a try, so that 1, 2 and 3 differ.
    let (a, b, wake_up) = (3, 4, 8);
    let arriving = [
        marked(1, b),       // η2
        marked(2, a),       // θ3
        marked(wake_up, b), // W
        marked(0, a),       // θ1
        marked(2, b),       // η3
        marked(1, a),       // θ2
        marked(0, b),       // η1
    ];
    let ocor = order(Ranked { outranks_speculation: true, ..Ranked::default() }, &arriving);
    assert_eq!(ocor, [3, 5, 1, 6, 0, 4, 2]);
    // The baseline lets them go in turn.
    assert_eq!(order(RoundRobin, &arriving), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn marked_go_before_unmarked() {
    let all = [Header::default(), marked(8, 900), Header::default(), marked(0, 900)];
    // Among the unmarked the turn goes on behind the last winner.
    assert_eq!(order(Ranked { outranks_speculation: false, ..Ranked::default() }, &all), [3, 1, 2, 0]);
}

#[test]
fn figure_9_local_priority() {
    // Levels "100", "100" and "010" in: level "100" and index "110" out.
    let mark = |level| Some(Mark { level, progress: 7 });
    let channel = [mark(0), mark(0), mark(1)];
    assert_eq!(local_priority(&channel, 3), Some(("100".into(), "110".into())));
    // The check bit enables it: without marks nothing comes out.
    let unmarked = Mark::of(Header::default().rank);
    assert_eq!(local_priority(&[unmarked, None, mark(2)], 3), Some(("001".into(), "001".into())));
    assert_eq!(local_priority(&[unmarked, None], 3), None);
}

#[test]
fn a_marked_first_bid_outranks_a_body_only_if_asked_to() {
    // Node 0 sends a long packet; node 1's marked single flit comes when the body holds the switch every cycle.
    let late = |outranks_speculation| {
        let mut net = Network::with_arbiter(&funnel(2), Ranked { outranks_speculation, ..Ranked::default() }).unwrap();
        let mut got: Vec<Delivered> = vec![];
        let long = Packet { src: NodeId(0), dst: NodeId(2), flits: 4, header: Header::default(), tag: 0 };
        net.inject(long).unwrap();
        net.step(&mut got);
        let marked = Packet { src: NodeId(1), flits: 1, header: marked(0, 0), tag: 1, ..long };
        net.inject(marked).unwrap();
        net.run_to(baton_units::Cycles(100), &mut got);
        got.iter().find(|d| d.tag == 1).unwrap().packet_latency().0
    };
    // Alone it would take 3 · 2 + 2. Its speculative bid loses to the body once; its next one is of the same kind.
    assert_eq!((late(true), late(false)), (8, 9));
}

/// Longest wait of node 0's packets while all others send without pause and are marked.
fn longest_wait<A: Arbiter>(arbiter: A) -> u64 {
    let senders = 6;
    let mut net = Network::with_arbiter(&funnel(senders), arbiter).unwrap();
    let mut got: Vec<Delivered> = vec![];
    for cycle in 0..3000 {
        for node in 0..senders {
            let victim = node == senders - 1;
            if cycle % if victim { 40 } else { 2 } == 0 {
                let header = if victim { Header::default() } else { marked(0, 0) };
                let packet = Packet { src: NodeId(node), dst: NodeId(senders), flits: 1, header, tag: node.into() };
                net.inject(packet).unwrap();
            }
        }
        net.step(&mut got);
    }
    let waits = got.iter().filter(|d| d.tag == u64::from(senders) - 1).map(|d| d.network_latency().0);
    // Packets that never got through count with the age of the run.
    let arrived = waits.clone().count() as u64;
    if arrived < 60 { 3000 } else { waits.max().unwrap() }
}

#[test]
fn who_can_starve() {
    // Each of six inputs is served once in six cycles, through six packets a virtual channel at most.
    for (name, wait) in [("round robin", longest_wait(RoundRobin)), ("matrix", longest_wait(Matrix))] {
        assert!(wait < 200, "{name}: {wait}");
    }
    assert_eq!(longest_wait(Fixed), 3000, "the highest input starves");
    assert_eq!(
        longest_wait(Ranked { outranks_speculation: true, ..Ranked::default() }),
        3000,
        "unmarked packets starve behind marked ones"
    );
    // Rule 2 off: a coin a cycle. Seven waits of one coin each, and the turns among those that have won it.
    let fair = longest_wait(Ranked { ranked_first: false, ..Ranked::default() });
    assert!(fair < 600, "without rule 2: {fair}");
}

/// A mechanism beside OCOR: it writes ranks and names their arbiter, and the network knows nothing else of it.
#[test]
fn another_mechanism_brings_its_own_ranks() {
    // Deadlines, the nearest first.
    let headers = [50, 10, 30].map(|deadline| Header { rank: Rank::new(deadline), ..Header::default() });
    let departures = |config: Config| with_arbiter!(config, |arbiter| order(arbiter, &headers));
    assert_eq!(departures(Config { arbiter: ArbiterKind::Ranked, ..Config::default() }), [1, 2, 0]);
    assert_eq!(departures(Config::default()), [0, 1, 2], "in turn");
}

#[test]
fn ties_go_by_chance_or_in_turn() {
    let same = [marked(1, 7); 6];
    assert_eq!(order(Ranked { random_ties: false, ..Ranked::default() }, &same), [0, 1, 2, 3, 4, 5]);
    let by_chance = order(Ranked::default(), &same);
    assert_ne!(by_chance, [0, 1, 2, 3, 4, 5]);
    assert_eq!(by_chance, order(Ranked::default(), &same), "the seed decides");
}

/// Age of the oldest packet of a run of `cycles`: six nodes with four packets under way each send all they can over
/// one link, half of the packets marked, so that all waiting is in the router.
fn oldest(arbiter: ArbiterKind, cycles: u64) -> u64 {
    let network = Config { arbiter, ..funnel(6) };
    let to_the_end = Flow { pattern: Pattern::Hotspot, hot_share: 1.0, hot_nodes: vec![6], ..Flow::default() };
    let flow = |header| Flow { rate: 1.0, outstanding: 4, header, ..to_the_end.clone() };
    let traffic = vec![flow(Header::default()), flow(marked(0, 0))];
    Experiment { network, traffic, cycles, ..Experiment::default() }.run().unwrap().oldest
}

#[test]
fn the_oldest_packet_is_reported_and_its_age_is_bounded_where_none_starves() {
    for (name, arbiter) in ARBITERS {
        let (short, long) = (oldest(arbiter, 4_000), oldest(arbiter, 40_000));
        if arbiter.info().starves {
            assert!(short > 3_000 && long > 30_000, "{name} starves: {short}, then {long}");
        } else {
            // Seven nodes with eight packets each wait for one link: all are served within some rounds of 56.
            assert!(short < 300 && long < 300, "{name}: {short}, then {long}");
        }
    }
}

#[test]
fn by_age_nobody_waits_for_a_younger_packet() {
    // Five inputs send more than the link carries, the sixth little: queues grow, but the sixth's packets wait for
    // older ones only, give or take what is already under way.
    let senders = 6;
    let mut net = Network::with_arbiter(&funnel(senders), Age).unwrap();
    let mut got: Vec<Delivered> = vec![];
    for cycle in 0..3000 {
        for node in 0..senders {
            if cycle % if node == senders - 1 { 40 } else { 2 } == 0 {
                let header = Header::default();
                let packet = Packet { src: NodeId(node), dst: NodeId(senders), flits: 1, header, tag: node.into() };
                net.inject(packet).unwrap();
            }
        }
        net.step(&mut got);
    }
    let youngest = got.iter().map(|d| d.created.0).max().unwrap();
    let sixth: Vec<u64> = got.iter().filter(|d| d.tag == 5).map(|d| d.created.0).collect();
    let due = (0..youngest.saturating_sub(100)).filter(|c| c % 40 == 0).count();
    assert!(sixth.len() >= due && due > 10, "{} of {due}", sixth.len());
}

/// The order in which a bounded endpoint takes packets of these ranks, which stand in channels of their own before it.
fn order_at_endpoint(config: &Config, ranks: &[Option<u32>]) -> Vec<u64> {
    let n = ranks.len() as u32;
    // All nodes hang on one router, so that each packet finds a channel of the endpoint's free; each channel holds one.
    let topology = TopologyConfig::Graph(GraphFile { routers: 1, nodes: vec![0; n as usize + 2], links: vec![] });
    let bounds = Config { topology, buffer: 1, endpoint_places: 1, response_class: 1, ..config.clone() };
    with_arbiter!(bounds, |arbiter| {
        let mut net = Network::with_arbiter(&bounds, arbiter).unwrap();
        let mut got: Vec<Delivered> = vec![];
        let mut send = |net: &mut Network<_>, src, rank: Option<u32>, tag| {
            let header = Header { class: 0, rank: rank.map_or(Rank::NONE, Rank::new) };
            net.inject(Packet { src: NodeId(src), dst: NodeId(n), flits: 1, header, tag }).unwrap();
        };
        // One packet has the only place.
        send(&mut net, n + 1, None, 99);
        net.run_to(Cycles(50), &mut got);
        for (i, rank) in (0..).zip(ranks) {
            send(&mut net, i, *rank, i.into());
            net.run_to(net.now() + Cycles(50), &mut got);
        }
        assert_eq!(got.len(), 1, "the others wait");
        for _ in ranks {
            net.release(NodeId(n), 0);
            net.run_to(net.now() + Cycles(50), &mut got);
        }
        got[1..].iter().map(|d| d.tag).collect()
    })
}

#[test]
fn an_endpoint_takes_the_smallest_rank_first() {
    let ranks = [Some(2), None, Some(5), Some(7), Some(2), None];
    for allocator in [AllocatorKind::InputFirst, AllocatorKind::OutputFirst] {
        // The fast loop takes the first, the general one the second; the routers' arbiter has no part in it.
        let turns = Config { allocator, ..Config::default() };
        let ranked = Config { ranked_ejection: true, ..turns.clone() };
        let in_turn = order_at_endpoint(&turns, &ranks);
        assert_ne!(in_turn, order_at_endpoint(&ranked, &ranks), "{allocator:?}");
        let mut expected = in_turn.clone();
        // Of equal ranks and of those without the next in turn, from behind the last that was taken.
        expected.sort_by_key(|&tag| ranks[tag as usize].unwrap_or(u32::MAX));
        let took = order_at_endpoint(&ranked, &ranks);
        assert_eq!(took, expected, "{allocator:?}");
        // Without any rank both are the same.
        assert_eq!(order_at_endpoint(&ranked, &[None; 6]), order_at_endpoint(&turns, &[None; 6]), "{allocator:?}");
    }
}
