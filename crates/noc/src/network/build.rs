//! Builds a network from its configuration: graph, routes, channels and their delays.

use super::Network;
use super::flit::{MAX_HOPS, MAX_NODES};
use super::lean::{self, Lean, Wiring};
use super::matching::Matchers;
use super::set::Set;
use super::state::{Channel, Endpoint, NONE, Queue, Router, Scratch, Slots, Vc};
use super::wheel::Wheel;
use crate::allocator::AllocatorKind;
use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::error::{NocError, bad};
use crate::routing::{Routes, dependency_cycle};
use crate::topology::{Graph, MAX_PORTS};

/// Which inner loops a network may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// The fastest that fits.
    Any,
    /// The general one, which takes every configuration.
    General,
}

impl<A: Arbiter> Network<A> {
    /// A network of `config` whose routers arbitrate by `arbiter` (which need not be one that a configuration can
    /// name). Errors: see [`Config::validate`]; a graph that is not connected; a routing that can deadlock; a size
    /// beyond the memory limit.
    pub fn with_arbiter(config: &Config, arbiter: A) -> Result<Network<A>, NocError> {
        Network::with_loops(config, arbiter, Loops::Any)
    }

    /// The same, with a choice of the inner loop. Which one it is changes no byte of a result; tests hold that.
    pub fn with_loops(config: &Config, arbiter: A, loops: Loops) -> Result<Network<A>, NocError> {
        config.validate()?;
        let graph = config.topology.build()?;
        if graph.nodes.len() > MAX_NODES {
            return Err(bad("topology", graph.nodes.len(), format!("at most {MAX_NODES} nodes")));
        }
        if graph.max_ports() > MAX_PORTS {
            return Err(bad("topology", graph.max_ports(), format!("at most {MAX_PORTS} ports a router")));
        }
        if let Some(g) = &graph.grid
            && g.width + g.height > MAX_HOPS
        {
            return Err(bad("topology.size", format!("{}x{}", g.width, g.height), "at most 1024 routers on a path"));
        }
        check_memory(config, &graph)?;
        let (kind, routes) = Routes::new(config, &graph)?;
        if !config.allow_deadlock
            && let Some(cycle) = dependency_cycle(&routes, &graph)
        {
            return Err(NocError::Deadlock { routing: kind.name().into(), cycle });
        }
        let is_lean = loops == Loops::Any && lean::fits(config, &graph, &routes);
        Ok(Network::assemble(config, graph, routes, arbiter, is_lean))
    }

    fn assemble(config: &Config, graph: Graph, mut routes: Routes, arbiter: A, is_lean: bool) -> Network<A> {
        let mut shift = config.vcs.next_power_of_two().trailing_zeros();
        // Eight places a port wherever they fit one word: the lean loop needs it, and both loops then draw alike.
        if shift < 3 && graph.max_ports() <= 8 {
            shift = 3;
        }
        let nodes = graph.nodes.len();
        let clocks = clocks(config, graph.routers);
        let mut builder = Builder { config, arbiter: &arbiter, clocks: &clocks, channels: vec![] };
        let words = ((graph.max_ports() as usize) << shift).div_ceil(64).next_power_of_two();
        let ports_a_block = ((words * 64) >> shift) as u32;
        let routers = builder.number(&graph, shift, ports_a_block);
        let (out_channels, sources) = builder.connect(&graph, &routers, ports_a_block);
        let channels = builder.channels;
        let router_inputs = graph.routers * ports_a_block;
        let capacity = (config.buffer + config.shared_buffer) as usize;
        let depth_shift = capacity.next_power_of_two().trailing_zeros();
        let general = if is_lean { 0 } else { channels.len() };
        let vcs: Vec<Vc<A::State>> = channels[..general]
            .iter()
            .flat_map(|c| {
                let inputs = if c.from_source { 1 } else { routers[c.from as usize].in_ports as usize };
                (0..1usize << shift).map(move |_| inputs << shift)
            })
            .map(|requesters| Vc {
                mask: 0,
                head: 0,
                count: 0,
                out: 0,
                output: 0,
                given: NONE,
                bid_from: 0,
                credits: config.buffer as i16,
                tail: 0,
                owner: NONE,
                arbiter: arbiter.state(requesters),
            })
            .collect();
        let horizon = channels.iter().map(|c| u64::from(c.flit_delay.max(c.credit_delay))).max().unwrap_or(1);
        let queue = Queue { head: u32::MAX, tail: u32::MAX, sent: 0, vc: config.vcs - 1 };
        let routers_n = routers.len();
        let scratch = Scratch {
            waiting: vec![0; words].into(),
            ready: vec![0; words].into(),
            speculative: vec![0; words].into(),
            wanted: vec![0; words].into(),
            leader: vec![0; words * 64].into(),
            winner: [[0; 64]; 2],
            best: [0; 64],
        };
        let bounded = config.is_bounded();
        let lean = if is_lean {
            let wiring = Wiring {
                routers: &routers,
                channels: &channels,
                outputs: &out_channels,
                sources: &sources,
                router_inputs,
                horizon,
            };
            Lean::new(config, &routes, &arbiter, &wiring)
        } else {
            Lean::absent()
        };
        Network {
            now: 0,
            next_id: 0,
            shift,
            depth_shift,
            depth_mask: (1 << depth_shift) - 1,
            words,
            block: words.trailing_zeros() + 6,
            lane: if shift == 6 { u64::MAX } else { (1u64 << (1u32 << shift)) - 1 },
            nodes: nodes as u32,
            classes: config.classes,
            vcs_a_class: config.vcs / config.classes,
            router_inputs,
            speculative: config.pipeline == Pipeline::Speculative,
            vc_alloc: u64::from(config.latency.vc_alloc),
            clocked: clocks.iter().any(|c| *c != (1, 1)),
            shared: config.shared_buffer > 0,
            bounded,
            still: false,
            sent_before: u64::MAX,
            table_two: if routes.table.len() > routes.routers * nodes { routes.routers * nodes } else { 0 },
            lanes: routes.classes,
            masks: routes.masks.clone().into(),
            route: std::mem::take(&mut routes.table).into(),
            arrivals: Wheel::new(horizon, general),
            credits: Wheel::new(horizon, general),
            moves: Wheel::new(horizon, general),
            wakes: Wheel::new(u64::from(config.latency.vc_alloc), vcs.len().min(routers_n * words * 64)),
            wait: vec![0; routers_n * words].into(),
            ready: vec![0; routers_n * words].into(),
            active: Set::new(routers_n),
            lean,
            is_lean,
            flits: vec![Default::default(); vcs.len() << depth_shift].into(),
            queues: vec![queue; nodes * config.classes as usize].into(),
            turns: vec![0; nodes].into(),
            pending: vec![0; nodes].into(),
            sending: Set::new(nodes),
            endpoints: if bounded { Endpoint::all_of(config, nodes) } else { vec![] },
            receiving: Set::new(nodes),
            slots: Slots::new(nodes * 16),
            rng: (0..nodes as u64).map(|n| crate::rng::Rng::new(config.seed, 0x6e6f_6465, n)).collect(),
            matchers: Matchers::new(config.allocator, routers_n),
            fused: config.allocator == AllocatorKind::InputFirst,
            step_order: None,
            #[cfg(debug_assertions)]
            under_way: Default::default(),
            journeys: None,
            vcs: vcs.into(),
            channels: channels.into(),
            routers: routers.into(),
            outputs: out_channels.into(),
            sources: sources.into(),
            scratch,
            routes,
            graph,
            arbiter,
            config: config.clone(),
        }
    }
}

/// Refuses a network that would not fit, before anything large is allocated.
fn check_memory(config: &Config, graph: &Graph) -> Result<(), NocError> {
    let places = u64::from(config.vcs.next_power_of_two());
    let block = (u64::from(graph.max_ports()) * places).div_ceil(64).next_power_of_two() * 64;
    let vcs = u64::from(graph.routers) * block + graph.nodes.len() as u64 * places;
    let ports = vcs / places;
    let depth = u64::from((config.buffer + config.shared_buffer).next_power_of_two());
    let table = u64::from(graph.routers) * graph.nodes.len() as u64;
    let mib = (vcs * (32 + depth * 8) + ports * 160 + table * 10 + graph.nodes.len() as u64 * 1200) >> 20;
    if mib > config.memory_limit_mib { Err(NocError::TooLarge { mib, limit: config.memory_limit_mib }) } else { Ok(()) }
}

fn clocks(config: &Config, routers: u32) -> Vec<(u32, u32)> {
    let mut clocks = vec![(1, 1); routers as usize];
    for domain in &config.clocks {
        for r in domain.routers.iter().filter(|r| **r < routers) {
            clocks[*r as usize] = (domain.numerator, domain.denominator);
        }
    }
    clocks
}

struct Builder<'a, A: Arbiter> {
    config: &'a Config,
    arbiter: &'a A,
    clocks: &'a [(u32, u32)],
    channels: Vec<Channel<A::State>>,
}

/// Cycles of the fastest clock that `cycles` of a router's own take, rounded up.
fn own((ticks, cycles_in): (u32, u32), cycles: u32) -> u32 {
    (cycles * cycles_in).div_ceil(ticks)
}

impl<A: Arbiter> Builder<'_, A> {
    /// Makes room for all channels and numbers routers: channels that end in routers come first, port by port.
    fn number(&mut self, graph: &Graph, shift: u32, ports_a_block: u32) -> Vec<Router> {
        let nodes = graph.nodes.len();
        let mut routers = vec![];
        for r in 0..graph.routers as usize {
            let (in_ports, out_ports) = (graph.in_ports[r], graph.out_ports[r]);
            routers.push(Router {
                outputs: r as u32 * ports_a_block,
                in_ports: in_ports as u16,
                out_ports: out_ports as u16,
                clock: self.clocks[r],
            });
            for in_port in 0..ports_a_block {
                let c = self.channel(r as u32, in_port, out_ports, shift);
                self.channels.push(c);
            }
        }
        for node in 0..nodes {
            let c = self.channel(node as u32, 0, 1, shift);
            self.channels.push(c);
        }
        routers
    }

    fn channel(&self, to: u32, in_port: u32, outputs: u32, shift: u32) -> Channel<A::State> {
        let vcs = self.config.vcs;
        let all = if vcs == 64 { u64::MAX } else { (1 << vcs) - 1 };
        let a = self.arbiter;
        Channel {
            free: all,
            credit: all,
            flits: 0,
            to,
            from: 0,
            in_port: in_port as u8,
            out_port: 0,
            from_source: false,
            flit_delay: 1,
            credit_delay: 1,
            length: 0,
            shared: self.config.shared_buffer as i32,
            by_vc: a.state(1 << shift),
            by_output: [a.state(outputs as usize), a.state(outputs as usize)],
            by_input: [a.state(1), a.state(1)],
        }
    }

    /// Joins channels with their upstream ends and sets their delays. Gives the output channels of all routers and
    /// the injection channel of each node.
    fn connect(&mut self, graph: &Graph, routers: &[Router], block: u32) -> (Vec<u32>, Vec<u32>) {
        let l = self.config.latency;
        let input = |router: u32, port: u32| router * block + port;
        let router_inputs = graph.routers * block;
        let mut outputs = vec![u32::MAX; (graph.routers * block) as usize];
        let mut set = |from: u32, port: u32, channel: u32| {
            outputs[(routers[from as usize].outputs + port) as usize] = channel;
        };
        let upstream = |c: &mut Channel<A::State>, from: u32, port: u32, a: &A| {
            c.from = from;
            c.out_port = port as u8;
            let inputs = routers[from as usize].in_ports as usize;
            c.by_input = [a.state(inputs), a.state(inputs)];
        };
        for link in &graph.links {
            let channel = input(link.to, link.to_port);
            set(link.from, link.from_port, channel);
            let clock = self.clocks[link.from as usize];
            let (there, here) = (own(self.clocks[link.to as usize], 1), clock);
            let c = &mut self.channels[channel as usize];
            upstream(c, link.from, link.from_port, self.arbiter);
            c.length = link.length;
            c.flit_delay = (own(here, l.switch_alloc + l.traversal) + l.link * link.length) as u16;
            c.credit_delay = (there * l.switch_alloc + l.credit_link * link.length + own(here, l.credit)) as u16;
        }
        let mut sources = vec![];
        for (node, at) in graph.nodes.iter().enumerate() {
            let channel = input(at.from_router, at.in_port);
            sources.push(channel);
            let there = own(self.clocks[at.from_router as usize], 1);
            let c = &mut self.channels[channel as usize];
            (c.from, c.from_source) = (node as u32, true);
            c.flit_delay = (1 + l.injection) as u16;
            // A source uses a credit in the cycle in which it arrives; only routers take cycles to process it.
            c.credit_delay = (there * l.switch_alloc + l.credit_link) as u16;
            let channel = router_inputs + node as u32;
            set(at.to_router, at.out_port, channel);
            let here = self.clocks[at.to_router as usize];
            let c = &mut self.channels[channel as usize];
            upstream(c, at.to_router, at.out_port, self.arbiter);
            c.flit_delay = (own(here, l.switch_alloc + l.traversal) + l.ejection) as u16;
            c.credit_delay = (1 + l.credit_link + own(here, l.credit)) as u16;
        }
        (outputs, sources)
    }
}
