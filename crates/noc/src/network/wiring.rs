//! How a network is wired: routers, links with their delays, and the routing table. It does not
//! change while the network runs.
//!
//! A *channel* is a link with its buffers, from a router or source to a router or endpoint. Virtual
//! channel `v` of channel `c` has the number `c << shift | v` everywhere, upstream (credits, owner)
//! and downstream (flits, route), so that one number names both ends in the timing wheels. A
//! router's inputs fill a block of whole words: input `i = port << shift | v` of router `r` has the
//! number `r << block | i`, and that number's bit in the masks `wait` and `ready`. The channels
//! that end in endpoints follow. Numbers between a router's last port and the next block are never
//! used.

use super::spec::Spec;
use super::table::Table;
use crate::config::{Config, Latencies};
use crate::routing::Routes;
use crate::topology::Graph;

/// Routers, links and routes.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    pub(crate) graph: Graph,
    /// The routes; their table is moved to `route`, their masks are copied to `masks`.
    pub(crate) routes: Routes,
    pub(crate) route: Table<u16>,
    pub(crate) masks: Table<u64>,
    /// Index at which the second routing table begins; 0 if there is none.
    pub(crate) table_two: usize,
    /// Number of classes of virtual channels inside a virtual network.
    pub(crate) lanes: usize,
    pub(crate) routers: Table<RouterPorts>,
    /// Channel of each output port; a router's ports begin at [`RouterPorts::outputs`].
    pub(crate) outputs: Table<u32>,
    /// For each node, its channel into the network.
    pub(crate) sources: Table<u32>,
    /// Links by channel.
    pub(crate) links: Table<Link>,
}

/// One router's ports and clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouterPorts {
    /// Index of the router's first output port in [`Wiring::outputs`].
    pub(crate) outputs: u32,
    pub(crate) in_ports: u16,
    pub(crate) out_ports: u16,
    /// The clock ticks `clock.0` times in `clock.1` cycles.
    pub(crate) clock: (u32, u32),
}

/// The link of one channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Router at which the channel ends, or the node of the endpoint.
    pub(crate) to: u32,
    /// Router at which the channel begins, or the node of the source.
    pub(crate) from: u32,
    /// Input port at the downstream end.
    pub(crate) in_port: u8,
    /// Output port at the upstream end.
    pub(crate) out_port: u8,
    /// Whether the channel begins at a source.
    pub(crate) from_source: bool,
    /// Cycles from the grant upstream until the flit's first bid downstream.
    pub(crate) flit_delay: u16,
    /// Cycles from the grant downstream until the credit can be used upstream.
    pub(crate) credit_delay: u16,
    /// Length of the link in tiles, to which its energy is in proportion.
    pub(crate) length: u32,
}

/// Returns the number of input ports for which a router's block has numbers.
pub(crate) fn ports_a_block(words: usize, shift: u32) -> u32 {
    ((words * 64) >> shift) as u32
}

impl Wiring {
    pub(crate) fn new<A>(spec: &Spec<A>, graph: Graph, mut routes: Routes) -> Wiring {
        let clocks = clocks(&spec.config, graph.routers);
        let block = ports_a_block(spec.words, spec.shift);
        let routers = routers(&graph, &clocks, block);
        let mut joined = Joined::unconnected(&graph, block);
        joined.connect_routers(&graph, &routers, &spec.config.latency);
        joined.connect_nodes(&graph, &routers, &spec.config.latency);
        let size = routes.routers * routes.nodes;
        Wiring {
            table_two: if routes.table.len() > size { size } else { 0 },
            lanes: routes.classes,
            masks: routes.masks.clone().into(),
            route: std::mem::take(&mut routes.table).into(),
            routers: routers.into(),
            outputs: joined.outputs.into(),
            sources: joined.sources.into(),
            links: joined.links.into(),
            graph,
            routes,
        }
    }

    /// The longest delay of any link, in cycles.
    pub(crate) fn horizon(&self) -> u64 {
        self.links.iter().map(|link| u64::from(link.flit_delay.max(link.credit_delay))).max().unwrap_or(1)
    }

    /// Number of outputs that a flit of channel `c` may bid for: those of the router at its end, or
    /// 1 for an endpoint.
    pub(crate) fn outputs_behind(&self, c: usize, router_inputs: u32) -> usize {
        if c < router_inputs as usize { usize::from(self.routers[self.links[c].to as usize].out_ports) } else { 1 }
    }

    /// Number of inputs that may bid for channel `c`: those of the router at its beginning, or 1
    /// for a source.
    pub(crate) fn inputs_before(&self, c: usize) -> usize {
        let link = &self.links[c];
        if link.from_source { 1 } else { usize::from(self.routers[link.from as usize].in_ports) }
    }
}

/// Returns each router's clock as ticks and the cycles that they take.
fn clocks(config: &Config, routers: u32) -> Vec<(u32, u32)> {
    let mut clocks = vec![(1, 1); routers as usize];
    for domain in &config.clocks {
        for r in domain.routers.iter().filter(|r| **r < routers) {
            clocks[*r as usize] = (domain.numerator, domain.denominator);
        }
    }
    clocks
}

fn routers(graph: &Graph, clocks: &[(u32, u32)], block: u32) -> Vec<RouterPorts> {
    let ports = graph.in_ports.iter().zip(&graph.out_ports).zip(clocks);
    (0..)
        .zip(ports)
        .map(|(r, ((in_ports, out_ports), clock))| RouterPorts {
            outputs: r * block,
            in_ports: *in_ports as u16,
            out_ports: *out_ports as u16,
            clock: *clock,
        })
        .collect()
}

/// Returns the cycles of the fastest clock that `cycles` cycles of a router's own clock take,
/// rounded up.
fn own((ticks, cycles_in): (u32, u32), cycles: u32) -> u32 {
    (cycles * cycles_in).div_ceil(ticks)
}

/// Links while they are being connected.
struct Joined {
    links: Vec<Link>,
    outputs: Vec<u32>,
    sources: Vec<u32>,
    /// Number of input ports in a router's block.
    block: u32,
}

impl Joined {
    /// Creates a link for each channel number: channels that end in routers come first, port by
    /// port, then those that end in endpoints.
    fn unconnected(graph: &Graph, block: u32) -> Joined {
        let link = |to: u32, in_port: u32| Link {
            to,
            from: 0,
            in_port: in_port as u8,
            out_port: 0,
            from_source: false,
            flit_delay: 1,
            credit_delay: 1,
            length: 0,
        };
        let into_routers = (0..graph.routers).flat_map(|r| (0..block).map(move |port| (r, port)));
        let into_endpoints = (0..graph.nodes.len() as u32).map(|node| (node, 0));
        let links = into_routers.chain(into_endpoints).map(|(to, port)| link(to, port)).collect();
        Joined { links, outputs: vec![u32::MAX; (graph.routers * block) as usize], sources: vec![], block }
    }

    /// Connects the beginning of channel `channel` with output `port` of router `from`. Returns its
    /// link.
    fn starts_at(&mut self, channel: u32, routers: &[RouterPorts], from: u32, port: u32) -> &mut Link {
        self.outputs[(routers[from as usize].outputs + port) as usize] = channel;
        let link = &mut self.links[channel as usize];
        (link.from, link.out_port) = (from, port as u8);
        link
    }

    fn connect_routers(&mut self, graph: &Graph, routers: &[RouterPorts], l: &Latencies) {
        for wire in &graph.links {
            let channel = wire.to * self.block + wire.to_port;
            let here = routers[wire.from as usize].clock;
            let there = own(routers[wire.to as usize].clock, 1);
            let link = self.starts_at(channel, routers, wire.from, wire.from_port);
            link.length = wire.length;
            link.flit_delay = (own(here, l.switch_alloc + l.traversal) + l.link * wire.length) as u16;
            link.credit_delay = (there * l.switch_alloc + l.credit_link * wire.length + own(here, l.credit)) as u16;
        }
    }

    fn connect_nodes(&mut self, graph: &Graph, routers: &[RouterPorts], l: &Latencies) {
        let router_inputs = graph.routers * self.block;
        for (node, at) in (0..).zip(&graph.nodes) {
            let channel = at.from_router * self.block + at.in_port;
            self.sources.push(channel);
            let there = own(routers[at.from_router as usize].clock, 1);
            let link = &mut self.links[channel as usize];
            (link.from, link.from_source) = (node, true);
            link.flit_delay = (1 + l.injection) as u16;
            // A source uses a credit in the cycle in which it arrives; only routers take cycles to
            // process it.
            link.credit_delay = (there * l.switch_alloc + l.credit_link) as u16;
            let here = routers[at.to_router as usize].clock;
            let link = self.starts_at(router_inputs + node, routers, at.to_router, at.out_port);
            link.flit_delay = (own(here, l.switch_alloc + l.traversal) + l.ejection) as u16;
            link.credit_delay = (1 + l.credit_link + own(here, l.credit)) as u16;
        }
    }
}
