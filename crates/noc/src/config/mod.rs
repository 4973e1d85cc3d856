//! The configuration of a network. It has one type, is validated once, and is written in full into
//! every result.

mod read;

use crate::allocator::AllocatorKind;
use crate::arbiter::{ArbiterKind, Ranked};
use crate::error::{NocError, bad};
use crate::routing::{RouteFile, RoutingKind};
use crate::topology::TopologyConfig;
use serde::{Deserialize, Serialize};

/// Everything that shapes a network. `Config::default()` is the reference router on an 8×8 mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Which routers there are and which links join them.
    pub topology: TopologyConfig,
    /// How a packet chooses its route.
    pub routing: RoutingKind,
    /// The routing table for `routing = "table"`; without one, packets take shortest paths.
    pub routes: Option<RouteFile>,
    /// Virtual channels per port, summed over all message classes (1 to 64).
    pub vcs: u32,
    /// The private buffer of each virtual channel, in flits (1 to 4,096). [`Config::shared_buffer`]
    /// comes on top.
    pub buffer: u32,
    /// Flits per port that its virtual channels share beyond their private buffers; 0 means that
    /// all buffers are private.
    pub shared_buffer: u32,
    /// Number of message classes (1 to 8). Each class has its own virtual network of
    /// `vcs / classes` virtual channels.
    pub classes: u32,
    /// When a head flit may bid for the switch.
    pub pipeline: Pipeline,
    /// Latency of each pipeline stage and channel, in cycles.
    pub latency: Latencies,
    /// Which packet wins when several want the same resource.
    pub arbiter: ArbiterKind,
    /// Which allocator matches the inputs of the switch with its outputs.
    pub allocator: AllocatorKind,
    /// Options of the arbiter of ranks; used only if `arbiter` names it.
    #[serde(flatten)]
    pub ranked: Ranked,
    /// Packets of each class that an endpoint holds before it refuses more; 0 means that endpoints
    /// take every flit at once.
    pub endpoint_places: u32,
    /// The first message class that carries responses. Endpoints always take packets of this class
    /// and higher ones, whatever `endpoint_places` says.
    pub response_class: u32,
    /// Bounds for single endpoints and classes. They take precedence over `endpoint_places` and
    /// `response_class`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<EndpointBound>,
    /// Whether bounded endpoints accept flits in the order of their packets' ranks, as routers do
    /// under the arbiter of ranks. Otherwise they accept in round-robin order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ranked_ejection: bool,
    /// Clocks of routers that run slower than the fastest clock; routers that are not named run at
    /// the fastest.
    pub clocks: Vec<ClockDomain>,
    /// Whether to run even if the channel dependency graph has a cycle, so that the network can
    /// deadlock.
    pub allow_deadlock: bool,
    /// The largest estimated state of a network, in MiB, that is not refused.
    pub memory_limit_mib: u64,
    /// Seed of every random choice inside the network.
    pub seed: u64,
}

/// The number of packets of one class that each of some endpoints holds before it refuses more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointBound {
    /// Nodes of the endpoints that are bounded.
    pub nodes: Vec<u32>,
    /// The message class that is bounded.
    pub class: u32,
    /// Packets that each endpoint holds, at least 1.
    pub places: u32,
}

/// Routers that run at `numerator / denominator` of the fastest clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockDomain {
    /// The routers of this domain.
    pub routers: Vec<u32>,
    /// Ticks of these routers in `denominator` cycles of the fastest clock.
    pub numerator: u32,
    /// Cycles of the fastest clock in which these routers tick `numerator` times.
    pub denominator: u32,
}

/// When a head flit may bid for the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pipeline {
    /// The head flit may bid for the switch in the same cycle in which it bids for a virtual
    /// channel.
    Speculative,
    /// The head flit may bid for the switch only after the cycle in which it was given a virtual
    /// channel.
    Nonspeculative,
}

/// Latencies of pipeline stages and channels, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latencies {
    /// Latency of virtual-channel allocation.
    pub vc_alloc: u32,
    /// Latency of switch allocation.
    pub switch_alloc: u32,
    /// Latency of crossing the switch.
    pub traversal: u32,
    /// Latency of a link of length 1. The latency of a longer link is its length times this value.
    pub link: u32,
    /// Latency of the channel from a source to its router.
    pub injection: u32,
    /// Latency of the channel from a router to its endpoint.
    pub ejection: u32,
    /// Latency of a credit's way back over a link.
    pub credit_link: u32,
    /// Cycles that a router takes to process a credit that it receives.
    pub credit: u32,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            vc_alloc: 1,
            switch_alloc: 1,
            traversal: 1,
            link: 1,
            injection: 1,
            ejection: 1,
            credit_link: 1,
            credit: 1,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            topology: TopologyConfig::default(),
            routing: RoutingKind::Auto,
            routes: None,
            vcs: 6,
            buffer: 4,
            shared_buffer: 0,
            classes: 1,
            pipeline: Pipeline::Speculative,
            latency: Latencies::default(),
            arbiter: ArbiterKind::RoundRobin,
            allocator: AllocatorKind::InputFirst,
            ranked: Ranked::default(),
            endpoint_places: 0,
            response_class: u32::MAX,
            places: Vec::new(),
            ranked_ejection: false,
            clocks: Vec::new(),
            allow_deadlock: false,
            memory_limit_mib: 4096,
            seed: 1,
        }
    }
}

impl Config {
    /// Reads a configuration from TOML text. An error names `file`, the line
    /// and what is wrong there.
    pub fn from_toml(file: &str, text: &str) -> Result<Config, NocError> {
        toml::from_str(text).map_err(|e| NocError::toml(file, text, &e))
    }

    /// Whether any endpoint may refuse packets of any class.
    pub(crate) fn is_bounded(&self) -> bool {
        self.endpoint_places > 0 || !self.places.is_empty()
    }

    /// Whether packets of `class` occupy one of the places of the endpoint at `node`.
    pub(crate) fn bounds(&self, node: u32, class: u32) -> bool {
        self.endpoint_places > 0 && class < self.response_class
            || self.places.iter().any(|own| own.class == class && own.nodes.contains(&node))
    }

    /// Checks every value that does not depend on the topology's graph. An error names the key, its
    /// value and the range.
    pub fn validate(&self) -> Result<(), NocError> {
        let range = |key: &str, value: u32, low: u32, high: u32| {
            if (low..=high).contains(&value) { Ok(()) } else { Err(bad(key, value, format!("{low} to {high}"))) }
        };
        range("vcs", self.vcs, 1, 64)?;
        range("buffer", self.buffer, 1, 4096)?;
        range("shared_buffer", self.shared_buffer, 0, 16384)?;
        range("classes", self.classes, 1, 8)?;
        range("endpoint_places", self.endpoint_places, 0, 1 << 20)?;
        if self.vcs < self.classes {
            return Err(bad("vcs", self.vcs, format!("at least one for each of the {} classes", self.classes)));
        }
        let l = &self.latency;
        for (key, value) in [
            ("latency.vc_alloc", l.vc_alloc),
            ("latency.switch_alloc", l.switch_alloc),
            ("latency.traversal", l.traversal),
            ("latency.link", l.link),
            ("latency.injection", l.injection),
            ("latency.ejection", l.ejection),
            ("latency.credit_link", l.credit_link),
            ("latency.credit", l.credit),
        ] {
            range(key, value, 1, 64)?;
        }
        if self.pipeline == Pipeline::Speculative && l.vc_alloc != 1 {
            return Err(bad("latency.vc_alloc", l.vc_alloc, "1 with the speculative pipeline"));
        }
        for d in &self.clocks {
            if d.numerator == 0 || d.numerator > d.denominator || d.denominator > 64 * d.numerator.min(1024) {
                let value = format!("{}/{}", d.numerator, d.denominator);
                return Err(bad("clocks", value, "a fraction from 1/64 to 1"));
            }
        }
        self.topology.validate()?;
        // Limits the product of routers and nodes before the graph is built, since its tables grow
        // with that product.
        let (routers, nodes, links) = self.topology.extent();
        let mib = (routers.saturating_mul(nodes).saturating_mul(10) + 64 * (routers + nodes + links)) >> 20;
        if mib > self.memory_limit_mib {
            return Err(NocError::TooLarge { mib, limit: self.memory_limit_mib });
        }
        for (i, own) in self.places.iter().enumerate() {
            let key = |name: &str| format!("places[{i}].{name}");
            if let Some(node) = own.nodes.iter().find(|node| u64::from(**node) >= nodes) {
                return Err(bad(&key("nodes"), node, format!("nodes from 0 to {}", nodes - 1)));
            }
            if own.class >= self.classes {
                return Err(bad(&key("class"), own.class, format!("a class from 0 to {}", self.classes - 1)));
            }
            range(&key("places"), own.places, 1, 1 << 20)?;
        }
        for (i, d) in self.clocks.iter().enumerate() {
            if let Some(r) = d.routers.iter().find(|r| u64::from(**r) >= routers) {
                return Err(bad(&format!("clocks[{i}].routers"), r, format!("routers from 0 to {}", routers - 1)));
            }
        }
        Ok(())
    }
}
