//! Drives a network so that a profiler can count the cost of one flit-hop.
//!
//! - `hop_cost SIDE RATE CYCLES` runs uniform single-flit traffic on a `SIDE`×`SIDE` mesh.
//! - `hop_cost SIDE idle PACKETS` sends `PACKETS` packets, one at a time, from corner to corner of
//!   an idle mesh.
//!
//! Both print the number of flit-hops. `scripts/check/noc-instructions` counts the instructions of
//! this program under callgrind.

use baton_noc::arbiter::RoundRobin;
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::{Flow, Injector};
use baton_noc::{Config, Delivered, Header, Network, NocError, Packet, Sink};
use baton_units::{Cycles, NodeId};

/// A sink that discards delivered packets.
struct Discard;

impl Sink for Discard {
    fn delivered(&mut self, _packet: &Delivered) {}
}

fn main() -> Result<(), NocError> {
    let args: Vec<String> = std::env::args().collect();
    let number = |k: usize, default: u64| args.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let side = number(1, 8) as u32;
    let config = Config { topology: TopologyConfig::Mesh { size: [side; 2] }, ..Config::default() };
    let mut network = Network::with_arbiter(&config, RoundRobin)?;
    if args.get(2).is_some_and(|a| a == "idle") {
        let (far, gap) = (NodeId(side * side - 1), Cycles(10_000));
        for _ in 0..number(3, 100) {
            let packet = Packet { src: NodeId(0), dst: far, flits: 1, header: Header::default(), tag: 0 };
            network.inject(packet)?;
            network.run_to(network.now() + gap, &mut Discard);
        }
    } else {
        let rate = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(0.1);
        let flow = Flow { rate, ..Flow::default() };
        let mut injector = Injector::new(&flow, network.graph(), config.classes, 1, 0)?;
        for _ in 0..number(3, 1000) {
            injector.poll(&mut network);
            network.step(&mut Discard);
        }
    }
    println!("{}", network.flit_hops());
    Ok(())
}
