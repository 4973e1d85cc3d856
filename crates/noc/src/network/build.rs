//! Builds a network from its configuration: graph, routes, channels and their delays.

use super::flit::{MAX_HOPS, MAX_NODES};
use super::general::data::Scratch;
use super::lean;
use super::spec::Spec;
#[cfg(debug_assertions)]
use super::whole::UnderWay;
use super::whole::{Network, NetworkState};
use super::wiring::Wiring;
use crate::arbiter::Arbiter;
use crate::config::Config;
use crate::error::{NocError, bad};
use crate::routing::{Request, Routes, dependency_cycle};
use crate::topology::{Graph, MAX_PORTS};

/// Which inner loops a network may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// The fastest loop that supports the configuration.
    Any,
    /// The general loop, which supports every configuration.
    General,
}

impl<A: Arbiter> Network<A> {
    /// Builds the network of `config`, with routers that arbitrate by `arbiter`; a configuration
    /// need not be able to name that arbiter. Fails if [`Config::validate`] does, if the graph is
    /// not connected, if the routing can deadlock, or if the size is beyond the memory limit.
    pub fn with_arbiter(config: &Config, arbiter: A) -> Result<Network<A>, NocError> {
        Network::with_loops(config, arbiter, Loops::Any)
    }

    /// Works like [`Network::with_arbiter`], with a choice of the inner loop. Tests show that the choice
    /// changes no byte of a result.
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
            && g.longest_path() > MAX_HOPS
        {
            // Said before the tables of such a grid are filled, which may take long.
            return Err(too_long(g.longest_path()));
        }
        check_memory(config, &graph)?;
        let request = Request {
            kind: config.routing,
            file: config.routes.as_ref(),
            topology: &config.topology,
            vcs: config.vcs,
            classes: config.classes,
        };
        let (kind, routes) = Routes::new(&request, &graph)?;
        if routes.longest > MAX_HOPS {
            return Err(too_long(routes.longest));
        }
        if !config.allow_deadlock
            && let Some(cycle) = dependency_cycle(&routes, &graph)
        {
            return Err(NocError::Deadlock { routing: kind.name().into(), cycle });
        }
        let is_lean = loops == Loops::Any && lean::build::fits(config, &graph, &routes);
        let spec = Spec::new(config, arbiter, &graph, is_lean);
        let wiring = Wiring::new(&spec, graph, routes);
        Ok(Network {
            state: NetworkState::new(&spec, &wiring),
            scratch: Scratch::new(spec.words),
            #[cfg(debug_assertions)]
            under_way: UnderWay::default(),
            spec,
            wiring,
        })
    }
}

/// The error of a network in which a packet may pass `routers` routers.
fn too_long(routers: u32) -> NocError {
    bad("topology", format!("{routers} routers on the longest path"), format!("at most {MAX_HOPS}"))
}

/// Rejects a network that would not fit in memory, before anything large is allocated.
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

#[cfg(test)]
mod tests {
    use super::{Config, Loops, Network};
    use crate::arbiter::RoundRobin;
    use crate::packet::{Delivered, Header, Packet};
    use crate::rng::Rng;
    use baton_units::NodeId;

    /// Steps `cycles` cycles; in each, every node sends a packet with probability 1/8. Returns the
    /// packets that arrived.
    fn run(network: &mut Network<RoundRobin>, traffic: &mut Rng, cycles: u32) -> Vec<Delivered> {
        let mut arrived = vec![];
        for _ in 0..cycles {
            for src in 0..network.nodes() {
                let dst = NodeId(traffic.below(u64::from(network.nodes())) as u32);
                let (class, flits) = (traffic.below(2) as u8, 1 + traffic.below(4) as u32);
                if traffic.below(8) == 0 {
                    let packet = Packet { src: NodeId(src), dst, flits, header: Header::of_class(class), tag: 0 };
                    network.inject(packet).expect("a right packet");
                }
            }
            network.step(&mut arrived);
        }
        arrived
    }

    /// A new network that is given the state of another goes on exactly like it, so the state holds
    /// everything that changes.
    #[test]
    fn a_new_network_that_is_given_the_state_goes_on_alike() {
        let unbounded = Config { classes: 2, ..Config::default() };
        let bounded = Config { endpoint_places: 2, response_class: 1, ..unbounded.clone() };
        for (config, loops) in [(&unbounded, Loops::Any), (&bounded, Loops::Any), (&bounded, Loops::General)] {
            let network = || Network::with_loops(config, RoundRobin, loops).expect("a right configuration");
            let (mut first, mut traffic) = (network(), Rng::new(7, 0, 0));
            run(&mut first, &mut traffic, 300);
            let mut second = network();
            second.state = first.state.clone();
            let expected = run(&mut first, &mut traffic.clone(), 300);
            assert!(expected.len() > 100, "{} packets arrived", expected.len());
            assert_eq!(run(&mut second, &mut traffic, 300), expected, "{loops:?}");
        }
    }
}
