//! Wiring → nodes.

use super::super::flit::Flit;
use super::super::state::{Channel, Router};
use super::super::wheel::Wheel;
use super::ejected::Ejected;
use super::node::{Fixed, Lane, Node, Octets, Port, SOURCE, Source, TO_ENDPOINT};
use super::{FROM_SOURCE, Kind, Lean, ONE_HOP, Queues, TO_SOURCE, Wheels};
use crate::allocator::AllocatorKind;
use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::routing::{Choice, Routes};
use crate::topology::Graph;

/// Ports of a router and virtual channels of a port, at most.
const SMALL: u32 = 8;

/// Whether a network can go through the lean loop.
pub(in super::super) fn fits(config: &Config, graph: &Graph, routes: &Routes) -> bool {
    graph.max_ports() <= SMALL
        && config.vcs <= SMALL
        && config.buffer <= 255
        && config.shared_buffer == 0
        && config.latency.vc_alloc == 1
        && config.allocator == AllocatorKind::InputFirst
        && !matches!(routes.choice, Choice::Port { .. })
}

/// What `build.rs` of the parent folder has joined.
pub(in super::super) struct Wiring<'a, S> {
    pub(in super::super) routers: &'a [Router],
    pub(in super::super) channels: &'a [Channel<S>],
    /// Channel of each output, eight places a router.
    pub(in super::super) outputs: &'a [u32],
    /// Channel of each node into the network.
    pub(in super::super) sources: &'a [u32],
    /// Number of channels that end in routers.
    pub(in super::super) router_inputs: u32,
    /// Greatest delay of a channel.
    pub(in super::super) horizon: u64,
}

impl Wheels {
    fn new(horizon: u64, row: usize) -> Wheels {
        Wheels {
            moves: Wheel::new(horizon, row),
            arrivals: Wheel::new(horizon, row),
            credits: Wheel::new(horizon, row),
            injected: Wheel::new(horizon, row),
            returned: Wheel::new(horizon, row),
        }
    }
}

impl<S: Clone> Lean<S> {
    /// The state of a network that does not go through the lean loop.
    pub(in super::super) fn absent() -> Lean<S> {
        let queues = Queues { flits: vec![].into(), depth_shift: 0, depth_mask: 0 };
        Lean {
            nodes: vec![].into(),
            sources: vec![].into(),
            queues,
            wheels: Wheels::new(1, 0),
            ejected: Ejected::new(vec![], 0),
            kind: Kind::Any,
        }
    }

    pub(in super::super) fn new<A: Arbiter<State = S>>(
        config: &Config,
        routes: &Routes,
        arbiter: &A,
        w: &Wiring<S>,
    ) -> Lean<S> {
        let depth_shift = config.buffer.next_power_of_two().trailing_zeros();
        let queues = Queues {
            flits: vec![Flit::default(); (w.routers.len() * 64) << depth_shift].into(),
            depth_shift,
            depth_mask: ((1u32 << depth_shift) - 1) as u8,
        };
        let wheels = Wheels::new(w.horizon, w.channels.len());
        let nodes: Vec<Node<S>> = (0..w.routers.len()).map(|r| node(config, routes, arbiter, w, r)).collect();
        let sources: Vec<Source> = w.sources.iter().map(|c| source(config, &w.channels[*c as usize], *c)).collect();
        let bounded = config.is_bounded();
        let ways = if bounded { ways_to_endpoints(w) } else { vec![] };
        let ejected = Ejected::new(ways, depth_shift);
        let kind = kind(config, routes, w);
        Lean { nodes: nodes.into(), sources: sources.into(), queues, wheels, ejected, kind }
    }

    /// From now on of no kind, as something is wanted that their code leaves out. `mask` is the one of all heads of a
    /// plain network, which does not keep it.
    pub(in super::super) fn leave_kind(&mut self, mask: u64) {
        if std::mem::replace(&mut self.kind, Kind::Any) == Kind::Plain {
            for r in 0..self.nodes.len() {
                self.nodes[r].lanes.0.iter_mut().for_each(|lane| lane.mask = mask as u8);
            }
        }
    }
}

/// By node: the first output virtual channel behind which its endpoint is.
fn ways_to_endpoints<S>(w: &Wiring<S>) -> Vec<u32> {
    let ends = &w.channels[w.router_inputs as usize..];
    ends.iter().map(|c| c.from << 6 | u32::from(c.out_port) << 3).collect()
}

fn kind<S>(config: &Config, routes: &Routes, w: &Wiring<S>) -> Kind {
    let delays = |c: &Channel<S>| {
        let expected = if c.from_source { (FROM_SOURCE, TO_SOURCE) } else { (ONE_HOP, ONE_HOP) };
        (u64::from(c.flit_delay), u64::from(c.credit_delay)) == expected
    };
    let connected = w.outputs.iter().chain(w.sources).filter(|c| **c != u32::MAX);
    let uniform = config.pipeline == Pipeline::Speculative
        && w.routers.iter().all(|r| r.clock == (1, 1))
        && connected.map(|c| &w.channels[*c as usize]).all(delays);
    let one_class = config.classes == 1 && routes.classes == 1 && routes.choice == Choice::None;
    match (uniform, one_class && !config.is_bounded()) {
        (true, true) => Kind::Plain,
        (true, false) => Kind::Uniform,
        (false, _) => Kind::Any,
    }
}

fn all_of(config: &Config) -> u8 {
    ((1u32 << config.vcs) - 1) as u8
}

fn source<S>(config: &Config, c: &Channel<S>, number: u32) -> Source {
    Source {
        free: all_of(config),
        credit: all_of(config),
        credits: Fixed([config.buffer as u8; 8]),
        to: number << 3,
        delay: u32::from(c.flit_delay),
        sent: 0,
    }
}

fn node<A: Arbiter>(config: &Config, routes: &Routes, a: &A, w: &Wiring<A::State>, r: usize) -> Node<A::State> {
    let router = &w.routers[r];
    let (ins, outs) = (usize::from(router.in_ports), usize::from(router.out_ports));
    let down = |out: usize| {
        let c = w.outputs[r << 3 | out];
        let there = if c >= w.router_inputs { TO_ENDPOINT | ((r << 6 | out << 3) as u32) } else { c << 3 };
        there.wrapping_sub((out << 3) as u32)
    };
    let into = |port: usize| &w.channels[r << 3 | port];
    let up = |port: usize| {
        let c = into(port);
        let there = if c.from_source { SOURCE | c.from << 3 } else { c.from << 6 | u32::from(c.out_port) << 3 };
        there.wrapping_sub((port << 3) as u32)
    };
    let behind = |out: usize| &w.channels[w.outputs[r << 3 | out] as usize];
    // Ports that do not exist are never looked at.
    let delays = |n: usize, f: &dyn Fn(usize) -> u16| Fixed(std::array::from_fn(|p| if p < n { f(p) } else { 0 }));
    let port = |p: usize| Port {
        want: 0,
        sent: 0,
        down: if p < outs { down(p) } else { 0 },
        up: if p < ins { up(p) } else { 0 },
        by_output: [a.state(outs), a.state(outs)],
        by_input: [a.state(ins), a.state(ins)],
    };
    let lane = Lane {
        front: Flit::default(),
        out: 0,
        count: 0,
        bid_from: 0,
        given: 0,
        head: 0,
        mask: 0,
        credits: config.buffer as u8,
        owner: 0,
    };
    Node {
        wait: 0,
        ready: 0,
        free: Octets::all(all_of(config)),
        credit: Octets::all(all_of(config)),
        number: r as u32,
        route: r * routes.nodes,
        clock: router.clock,
        by_vc: Fixed(std::array::from_fn(|_| a.state(8))),
        ports: Fixed(std::array::from_fn(port)),
        by_head: Fixed(std::array::from_fn(|_| a.state(ins << 3))),
        lanes: Fixed([lane; 64]),
        flit_delay: delays(outs, &|out| behind(out).flit_delay),
        credit_delay: delays(ins, &|port| into(port).credit_delay),
        return_delay: delays(outs, &|out| behind(out).credit_delay),
    }
}
