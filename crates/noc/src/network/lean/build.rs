//! Builds the routers of the lean loop from the wiring.

use super::super::flit::Flit;
use super::super::spec::Spec;
use super::super::wheel::Wheel;
use super::super::wiring::{Link, Wiring};
use super::data::{FROM_SOURCE, Lean, ONE_HOP, Queues, TO_SOURCE, Uniformity, Wheels};
use super::ejected::Ejected;
use super::router::{Fixed, Lane, Octets, Port, Router, SOURCE, Source, TO_ENDPOINT};
use crate::allocator::AllocatorKind;
use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::routing::{Choice, Routes};
use crate::topology::Graph;

/// The largest number of ports of a router, and of virtual channels of a port.
const SMALL: u32 = 8;

/// Whether the lean loop supports a network.
pub(crate) fn fits(config: &Config, graph: &Graph, routes: &Routes) -> bool {
    graph.max_ports() <= SMALL
        && config.vcs <= SMALL
        && config.buffer <= 255
        && config.shared_buffer == 0
        && config.latency.vc_alloc == 1
        && config.allocator == AllocatorKind::InputFirst
        && !matches!(routes.choice, Choice::Port { .. })
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
    /// Creates the empty state of a network that uses the general loop.
    pub(crate) fn absent() -> Lean<S> {
        let queues = Queues { flits: vec![].into(), depth_shift: 0, depth_mask: 0 };
        Lean {
            routers: vec![].into(),
            sources: vec![].into(),
            queues,
            wheels: Wheels::new(1, 0),
            ejected: Ejected::new(vec![], 0),
            uniformity: Uniformity::Any,
        }
    }

    /// Creates the state of an idle network.
    pub(crate) fn new<A: Arbiter<State = S>>(spec: &Spec<A>, wiring: &Wiring) -> Lean<S> {
        let (config, routers) = (&spec.config, wiring.routers.len());
        let depth_shift = config.buffer.next_power_of_two().trailing_zeros();
        let queues = Queues {
            flits: vec![Flit::default(); (routers * 64) << depth_shift].into(),
            depth_shift,
            depth_mask: ((1u32 << depth_shift) - 1) as u8,
        };
        let sources = wiring.sources.iter().map(|c| source(config, &wiring.links[*c as usize], *c));
        let ways = if spec.bounded { ways_to_endpoints(spec, wiring) } else { vec![] };
        Lean {
            routers: (0..routers).map(|r| router(spec, wiring, r)).collect::<Vec<_>>().into(),
            sources: sources.collect::<Vec<_>>().into(),
            queues,
            wheels: Wheels::new(wiring.horizon(), wiring.links.len()),
            ejected: Ejected::new(ways, depth_shift),
            uniformity: uniformity(config, wiring),
        }
    }

    /// Ends the uniformity of the network, because something is wanted that the code for uniform
    /// networks leaves out. `mask` is the mask of all head flits of a plain network, which does not
    /// store masks.
    pub(crate) fn become_any(&mut self, mask: u64) {
        if std::mem::replace(&mut self.uniformity, Uniformity::Any) == Uniformity::Plain {
            for r in 0..self.routers.len() {
                self.routers[r].lanes.0.iter_mut().for_each(|lane| lane.mask = mask as u8);
            }
        }
    }
}

/// For each node, the first output virtual channel that leads to its endpoint.
fn ways_to_endpoints<A>(spec: &Spec<A>, wiring: &Wiring) -> Vec<u32> {
    let ends = &wiring.links.as_slice()[spec.router_inputs as usize..];
    ends.iter().map(|link| link.from << 6 | u32::from(link.out_port) << 3).collect()
}

fn uniformity(config: &Config, wiring: &Wiring) -> Uniformity {
    let usual_delays = |channel: u32| {
        let link = &wiring.links[channel as usize];
        let expected = if link.from_source { (FROM_SOURCE, TO_SOURCE) } else { (ONE_HOP, ONE_HOP) };
        (u64::from(link.flit_delay), u64::from(link.credit_delay)) == expected
    };
    let mut connected = wiring.outputs.iter().chain(wiring.sources.iter()).filter(|c| **c != u32::MAX);
    let uniform = config.pipeline == Pipeline::Speculative
        && wiring.routers.iter().all(|r| r.clock == (1, 1))
        && connected.all(|c| usual_delays(*c));
    let one_class = config.classes == 1 && wiring.lanes == 1 && wiring.routes.choice == Choice::None;
    match (uniform, one_class && !config.is_bounded()) {
        (true, true) => Uniformity::Plain,
        (true, false) => Uniformity::Uniform,
        (false, _) => Uniformity::Any,
    }
}

fn all_of(config: &Config) -> u8 {
    ((1u32 << config.vcs) - 1) as u8
}

fn source(config: &Config, link: &Link, number: u32) -> Source {
    Source {
        free: all_of(config),
        credit: all_of(config),
        credits: Fixed([config.buffer as u8; 8]),
        to: number << 3,
        delay: u32::from(link.flit_delay),
        sent: 0,
    }
}

fn router<A: Arbiter>(spec: &Spec<A>, wiring: &Wiring, r: usize) -> Router<A::State> {
    let (config, a) = (&spec.config, &spec.arbiter);
    let ports = &wiring.routers[r];
    let (ins, outs) = (usize::from(ports.in_ports), usize::from(ports.out_ports));
    let down = |out: usize| {
        let c = wiring.outputs[r << 3 | out];
        let there = if c >= spec.router_inputs { TO_ENDPOINT | ((r << 6 | out << 3) as u32) } else { c << 3 };
        there.wrapping_sub((out << 3) as u32)
    };
    let into = |port: usize| &wiring.links[r << 3 | port];
    let up = |port: usize| {
        let link = into(port);
        let behind = link.from << 6 | u32::from(link.out_port) << 3;
        let there = if link.from_source { SOURCE | link.from << 3 } else { behind };
        there.wrapping_sub((port << 3) as u32)
    };
    let behind = |out: usize| &wiring.links[wiring.outputs[r << 3 | out] as usize];
    // Entries of ports that do not exist are never read.
    let delays = |n: usize, f: &dyn Fn(usize) -> u16| Fixed(std::array::from_fn(|p| if p < n { f(p) } else { 0 }));
    let port = |p: usize| Port {
        want: 0,
        sent: 0,
        down: if p < outs { down(p) } else { 0 },
        up: if p < ins { up(p) } else { 0 },
        by_output: [a.state(outs), a.state(outs)],
        by_input: [a.state(ins), a.state(ins)],
    };
    Router {
        wait: 0,
        ready: 0,
        free: Octets::all(all_of(config)),
        credit: Octets::all(all_of(config)),
        number: r as u32,
        route: r * wiring.routes.nodes,
        clock: ports.clock,
        by_vc: Fixed(std::array::from_fn(|_| a.state(8))),
        ports: Fixed(std::array::from_fn(port)),
        by_head: Fixed(std::array::from_fn(|_| a.state(ins << 3))),
        lanes: Fixed([Lane::idle(config.buffer as u8); 64]),
        flit_delay: delays(outs, &|out| behind(out).flit_delay),
        credit_delay: delays(ins, &|port| into(port).credit_delay),
        return_delay: delays(outs, &|out| behind(out).credit_delay),
    }
}

impl Lane {
    fn idle(credits: u8) -> Lane {
        let front = Flit::default();
        Lane { front, out: 0, count: 0, bid_from: 0, given: 0, head: 0, mask: 0, credits, owner: 0 }
    }
}
