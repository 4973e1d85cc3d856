//! Which packet goes first: OCOR's figures 8 and 9, ages, starvation.

use baton_noc::allocator::AllocatorKind;
use baton_noc::arbiter::{ARBITERS, Age, Arbiter, ArbiterKind, Fixed, Matrix, Ranked, RoundRobin};
use baton_noc::experiment::Experiment;
use baton_noc::ocor::{Mark, local_priority};
use baton_noc::topology::{GraphFile, GraphLink, TopologyConfig};
use baton_noc::traffic::{Flow, Pattern};
use baton_noc::{Config, Delivered, Header, Network, Packet, Rank, with_arbiter};
use baton_units::{Cycles, NodeId};

/// Builds a network in which `senders` nodes on one router all send to one node behind a single
/// link.
fn funnel(senders: u32) -> Config {
    let nodes = (0..senders).map(|_| 0).chain([1]).collect();
    let link = GraphLink { from: 0, to: 1, length: 1, one_way: false };
    // Buffers are so deep that no packet is given a virtual channel without credits and then
    // overtaken while it waits.
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
    // Threads θ with progress a and η with progress b, where a < b, have 1, 2 and 3 tries left; a
    // wake-up has progress b. They are listed in the order in which they meet the router. Slower
    // progress goes first, then fewer tries left, and the wake-up last. Here each try has its own
    // level, so that 1, 2 and 3 tries differ.
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
    // The baseline lets the seven packets go in round-robin order.
    assert_eq!(order(RoundRobin, &arriving), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn marked_go_before_unmarked() {
    let all = [Header::default(), marked(8, 900), Header::default(), marked(0, 900)];
    // The unmarked packets 0 and 2 go last, in round-robin order from behind packet 1, the last
    // winner.
    assert_eq!(order(Ranked { outranks_speculation: false, ..Ranked::default() }, &all), [3, 1, 2, 0]);
}

#[test]
fn figure_9_local_priority() {
    // In the paper's figure 9, three inputs have levels "100", "100" and "010"; the arbiter's
    // output is level "100" and index "110".
    let mark = |level| Some(Mark { level, progress: 7 });
    let channel = [mark(0), mark(0), mark(1)];
    assert_eq!(local_priority(&channel, 3), Some(("100".into(), "110".into())));
    // The check bit enables the arbiter: without marked packets there is no output.
    let unmarked = Mark::of(Header::default().rank);
    assert_eq!(local_priority(&[unmarked, None, mark(2)], 3), Some(("001".into(), "001".into())));
    assert_eq!(local_priority(&[unmarked, None], 3), None);
}

#[test]
fn a_marked_first_bid_outranks_a_body_only_if_asked_to() {
    // Node 0 sends a long packet; node 1's marked single flit arrives when the body holds the
    // switch in every cycle.
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
    // Alone the flit would take 3 · 2 + 2 cycles. Its speculative bid loses to the body once; its
    // next bid is no longer speculative.
    assert_eq!((late(true), late(false)), (8, 9));
}

/// Returns the longest wait of the highest-numbered sender's unmarked packets, while all other
/// senders keep sending marked ones, more than the link carries.
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
    // The last sender sends 75 packets, and nearly all of them arrive if it does not starve. If
    // fewer than 60 arrive, the wait counts as the length of the run, 3,000 cycles.
    let arrived = waits.clone().count() as u64;
    if arrived < 60 { 3000 } else { waits.max().unwrap() }
}

#[test]
fn who_can_starve() {
    // Six inputs share the link in turns, so each is served about once in six cycles. The bound
    // leaves room for packets that wait in front in the same virtual channel.
    for (name, wait) in [("round robin", longest_wait(RoundRobin)), ("matrix", longest_wait(Matrix))] {
        assert!(wait < 200, "{name}: {wait}");
    }
    assert_eq!(longest_wait(Fixed), 3000, "the highest input starves");
    assert_eq!(
        longest_wait(Ranked { outranks_speculation: true, ..Ranked::default() }),
        3000,
        "unmarked packets starve behind marked ones"
    );
    // Without rule 2, a coin decides in each cycle whether an unmarked packet goes before all
    // marked ones, so the wait stays far below the 3,000 cycles of the run.
    let fair = longest_wait(Ranked { ranked_first: false, ..Ranked::default() });
    assert!(fair < 600, "without rule 2: {fair}");
}

/// A mechanism other than OCOR writes its own ranks and uses the arbiter `Ranked`; the network
/// needs to know nothing else of it.
#[test]
fn another_mechanism_brings_its_own_ranks() {
    // The ranks are deadlines; the nearest goes first.
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

/// Returns the age of the oldest packet of a run of `cycles` cycles. Seven nodes send all that they
/// can to node 6, six of them over one link. Each node has at most eight packets under way, four
/// marked and four not, so that all waiting happens in the routers.
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
            // Seven nodes with eight packets each wait for the channel to node 6, so all are served
            // within a few rounds of 56 cycles.
            assert!(short < 300 && long < 300, "{name}: {short}, then {long}");
        }
    }
}

#[test]
fn by_age_nobody_waits_for_a_younger_packet() {
    // Five inputs send more than the link carries and the sixth sends little. The queues grow, but
    // the sixth's packets wait only for older ones and for what is already on its way.
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

/// Returns the order in which a bounded endpoint takes packets of these ranks, each of which stands
/// in its own virtual channel before it.
fn order_at_endpoint(config: &Config, ranks: &[Option<u32>]) -> Vec<u64> {
    let n = ranks.len() as u32;
    // All nodes are attached to one router, so that each packet finds a free virtual channel to the
    // endpoint; each holds one packet.
    let topology = TopologyConfig::Graph(GraphFile { routers: 1, nodes: vec![0; n as usize + 2], links: vec![] });
    let bounds = Config { topology, buffer: 1, endpoint_places: 1, response_class: 1, ..config.clone() };
    with_arbiter!(bounds, |arbiter| {
        let mut net = Network::with_arbiter(&bounds, arbiter).unwrap();
        let mut got: Vec<Delivered> = vec![];
        let send = |net: &mut Network<_>, src, rank: Option<u32>, tag| {
            let header = Header { class: 0, rank: rank.map_or(Rank::NONE, Rank::new) };
            net.inject(Packet { src: NodeId(src), dst: NodeId(n), flits: 1, header, tag }).unwrap();
        };
        // The first packet occupies the only place.
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
        // The lean loop runs the allocator `InputFirst`, the general loop `OutputFirst`. The
        // routers' arbiter does not affect the order at the endpoint.
        let turns = Config { allocator, ..Config::default() };
        let ranked = Config { ranked_ejection: true, ..turns.clone() };
        let in_turn = order_at_endpoint(&turns, &ranks);
        assert_ne!(in_turn, order_at_endpoint(&ranked, &ranks), "{allocator:?}");
        let mut expected = in_turn.clone();
        // Packets of equal rank, and those without a rank, go in round-robin order, from behind the
        // last one that was taken.
        expected.sort_by_key(|&tag| ranks[tag as usize].unwrap_or(u32::MAX));
        let took = order_at_endpoint(&ranked, &ranks);
        assert_eq!(took, expected, "{allocator:?}");
        // Without any rank, both configurations give the same order.
        assert_eq!(order_at_endpoint(&ranked, &[None; 6]), order_at_endpoint(&turns, &[None; 6]), "{allocator:?}");
    }
}
