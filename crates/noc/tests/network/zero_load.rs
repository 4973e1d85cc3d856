//! Timing without load, exact and from both sides: nothing has arrived at t − 1, and the packet has
//! at t.

use baton_noc::arbiter::RoundRobin;
use baton_noc::topology::TopologyConfig;
use baton_noc::{Config, Delivered, Header, Network, Packet, Pipeline};
use baton_units::{Cycles, NodeId};

fn network(config: &Config) -> Network<RoundRobin> {
    Network::with_arbiter(config, RoundRobin).unwrap()
}

fn packet(src: u32, dst: u32, flits: u32) -> Packet {
    Packet { src: NodeId(src), dst: NodeId(dst), flits, header: Header::default(), tag: 0 }
}

/// Sends one packet and asserts that it arrives exactly `latency` cycles later.
fn assert_latency(config: &Config, src: u32, dst: u32, flits: u32, latency: u64) {
    let mut net = network(config);
    let mut got: Vec<Delivered> = vec![];
    net.run_to(Cycles(17), &mut got);
    net.inject(packet(src, dst, flits)).unwrap();
    // `run_to(t)` simulates the cycles before t.
    net.run_to(Cycles(17 + latency), &mut got);
    assert!(got.is_empty(), "{src} -> {dst}, {flits} flits: there before cycle {latency}");
    net.run_to(Cycles(17 + latency + 1), &mut got);
    assert_eq!(got.len(), 1, "{src} -> {dst}, {flits} flits: not there at cycle {latency}");
    assert_eq!(got[0].packet_latency(), Cycles(latency));
    net.run_to(Cycles(1000), &mut got);
    assert_eq!(net.next_activity(), None, "credits come to rest");
}

/// A packet of one flit is on a link most of the time.
#[test]
fn the_oldest_packet_is_known_on_links_too() {
    let mut net = network(&Config::default());
    let mut got: Vec<Delivered> = vec![];
    net.run_to(Cycles(17), &mut got);
    assert_eq!(net.oldest(), None);
    net.inject(packet(0, 63, 1)).unwrap();
    while got.is_empty() {
        assert_eq!(net.oldest(), Some(Cycles(17)), "in cycle {}", net.now().0);
        net.run_to(Cycles(net.now().0 + 1), &mut got);
    }
    assert_eq!(net.oldest(), None);
}

fn routers(src: u32, dst: u32) -> u64 {
    u64::from((src % 8).abs_diff(dst % 8) + (src / 8).abs_diff(dst / 8) + 1)
}

#[test]
fn speculative_is_3r_plus_2_plus_l_minus_1() {
    let config = Config { buffer: 16, ..Config::default() };
    for (src, dst) in [(0, 0), (0, 1), (0, 63), (63, 0), (7, 56), (20, 44), (9, 8)] {
        for flits in [1, 2, 5, 16] {
            assert_latency(&config, src, dst, flits, 3 * routers(src, dst) + 2 + u64::from(flits) - 1);
        }
    }
}

#[test]
fn nonspeculative_is_4r_plus_2_plus_l_minus_1() {
    let config = Config { buffer: 16, pipeline: Pipeline::Nonspeculative, ..Config::default() };
    for (src, dst) in [(0, 0), (0, 1), (0, 63), (63, 0), (7, 56), (20, 44), (9, 8)] {
        for flits in [1, 2, 5, 16] {
            assert_latency(&config, src, dst, flits, 4 * routers(src, dst) + 2 + u64::from(flits) - 1);
        }
    }
}

#[test]
fn short_buffers_wait_for_credits() {
    // A packet of eight flits on one virtual channel. By depth of the buffer, `more` is the number
    // of cycles that the packet takes beyond a single flit's 3 · routers + 2.
    for (buffer, more) in [(8, 7), (6, 7), (5, 8), (4, 9), (2, 19), (1, 42)] {
        let config = Config { vcs: 1, buffer, ..Config::default() };
        for (src, dst) in [(0, 63), (0, 0), (5, 61)] {
            assert_latency(&config, src, dst, 8, 3 * routers(src, dst) + 2 + more);
        }
    }
}

#[test]
fn each_stage_adds_its_own_latency() {
    let base = Config { buffer: 16, ..Config::default() };
    let r = routers(0, 63);
    let with = |f: &dyn Fn(&mut Config)| {
        let mut c = base.clone();
        f(&mut c);
        c
    };
    assert_latency(&with(&|c| c.latency.link = 3), 0, 63, 1, 3 * r + 2 + 2 * (r - 1));
    assert_latency(&with(&|c| c.latency.traversal = 2), 0, 63, 1, 4 * r + 2);
    assert_latency(&with(&|c| c.latency.switch_alloc = 2), 0, 63, 1, 4 * r + 2);
    assert_latency(&with(&|c| c.latency.injection = 4), 0, 63, 1, 3 * r + 5);
    assert_latency(&with(&|c| c.latency.ejection = 4), 0, 63, 1, 3 * r + 5);
    assert_latency(
        &with(&|c| (c.latency.vc_alloc, c.pipeline) = (3, Pipeline::Nonspeculative)),
        0,
        63,
        5,
        6 * r + 2 + 4,
    );
}

#[test]
fn a_slow_router_takes_cycles_of_its_own() {
    // Router 1 in a row of three runs at half the clock: its two stages take four cycles, and it
    // allocates only in every other cycle.
    let config = Config {
        topology: TopologyConfig::Mesh { size: [3, 1] },
        clocks: vec![baton_noc::ClockDomain { routers: vec![1], numerator: 1, denominator: 2 }],
        ..Config::default()
    };
    // The packet is created at 17 and bids in router 0 at 19 and in router 1 at 22 (a tick). It
    // leaves router 1 four cycles later and is on the link for one cycle; it bids in router 2 at 27
    // and is received at 30.
    assert_latency(&config, 0, 2, 1, 13);
}
