//! Traffic: who sends to whom, how much, when.
//!
//! A [`Flow`] is one stream of packets: a pattern of destinations, a rate, a length, a header. Several flows run at
//! once, each with random streams of its own, so that adding one changes nothing in the others.

mod gaps;
mod pattern;

pub use gaps::Gaps;
pub use pattern::{Destinations, PATTERNS, Pattern};

use crate::arbiter::Arbiter;
use crate::error::{NocError, bad};
use crate::network::Network;
use crate::packet::{Header, Packet};
use crate::rng::Rng;
use crate::topology::Graph;
use baton_units::NodeId;
use serde::{Deserialize, Serialize};

/// One stream of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// Destinations.
    pub pattern: Pattern,
    /// Packets a node a cycle.
    pub rate: f64,
    /// Length of a packet in flits.
    pub packet: u32,
    /// What routers may read, the message class among it.
    pub header: Header,
    /// Mean length of a burst in cycles; 0 = Bernoulli. In a burst a node sends `burst_rate`, between bursts nothing,
    /// so that the mean is `rate`.
    pub burst: f64,
    /// Packets a node a cycle inside a burst.
    pub burst_rate: f64,
    /// `hotspot`: the share of packets that go to the hot nodes; the rest is uniform.
    pub hot_share: f64,
    /// `hotspot`: the hot nodes.
    pub hot_nodes: Vec<u32>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            pattern: Pattern::Uniform,
            rate: 0.1,
            packet: 1,
            header: Header::default(),
            burst: 0.0,
            burst_rate: 1.0,
            hot_share: 0.1,
            hot_nodes: vec![0],
        }
    }
}

impl Flow {
    /// Checks every value.
    pub fn validate(&self, nodes: u32, classes: u32) -> Result<(), NocError> {
        let share = |key: &str, v: f64| {
            if (0.0..=1.0).contains(&v) { Ok(()) } else { Err(bad(key, v, "0 to 1")) }
        };
        share("rate", self.rate)?;
        share("burst_rate", self.burst_rate)?;
        share("hot_share", self.hot_share)?;
        if !(1..=4096).contains(&self.packet) {
            return Err(bad("packet", self.packet, "1 to 4096 flits"));
        }
        if u32::from(self.header.class) >= classes {
            return Err(bad("class", self.header.class, format!("a class from 0 to {}", classes - 1)));
        }
        if !(self.burst == 0.0 || (1.0..=1e9).contains(&self.burst)) {
            return Err(bad("burst", self.burst, "0 (Bernoulli), or 1 to 1e9 cycles"));
        }
        // The mean pause that gives the mean rate must be a cycle at least.
        if self.burst > 0.0 && self.burst * (self.burst_rate - self.rate) < self.rate {
            let least = self.rate + self.rate / self.burst;
            return Err(bad(
                "burst_rate",
                self.burst_rate,
                format!("at least {least} for a mean rate of {}", self.rate),
            ));
        }
        if self.pattern == Pattern::Hotspot {
            if self.hot_nodes.is_empty() {
                return Err(bad("hot_nodes", "[]", "at least one node"));
            }
            if let Some(n) = self.hot_nodes.iter().find(|n| **n >= nodes) {
                return Err(bad("hot_nodes", n, format!("nodes from 0 to {}", nodes - 1)));
            }
        }
        Ok(())
    }
}

/// No node.
const NONE: u32 = u32::MAX;

/// A flow at work: for each node the cycle of its next packet, kept in a wheel of lists so that a cycle costs only
/// the packets that are born in it.
#[derive(Clone, Debug)]
pub struct Injector {
    destinations: Destinations,
    packet: u32,
    header: Header,
    gaps: Gaps,
    bursts: Option<Bursts>,
    rows: Vec<u32>,
    next: Vec<u32>,
    due: Vec<u64>,
    rng: Vec<Rng>,
    stopped: bool,
}

/// The on–off process: bursts and pauses of geometric length.
#[derive(Clone, Debug)]
struct Bursts {
    pause: Gaps,
    on_until: Vec<u64>,
    length: Gaps,
}

impl Injector {
    /// An injector for `flow`; `index` separates its random streams from those of other flows.
    pub fn new(flow: &Flow, graph: &Graph, classes: u32, seed: u64, index: u64) -> Result<Injector, NocError> {
        let nodes = graph.nodes.len();
        flow.validate(nodes as u32, classes)?;
        let destinations = Destinations::new(flow, graph, seed)?;
        let gaps = Gaps::new(if flow.burst > 0.0 { flow.burst_rate } else { flow.rate });
        let bursts = (flow.burst > 0.0 && flow.rate > 0.0).then(|| {
            let off = flow.burst * (flow.burst_rate - flow.rate) / flow.rate;
            Bursts { pause: Gaps::new(1.0 / off), on_until: vec![0; nodes], length: Gaps::new(1.0 / flow.burst) }
        });
        let spread = (4.0 / flow.rate.max(1e-4)).min(65536.0) as usize;
        let mut injector = Injector {
            destinations,
            packet: flow.packet,
            header: flow.header,
            gaps,
            bursts,
            rows: vec![NONE; spread.next_power_of_two().max(64)],
            next: vec![NONE; nodes],
            due: vec![0; nodes],
            rng: (0..nodes as u64).map(|n| Rng::new(seed, 0x7472_6166 + index, n)).collect(),
            stopped: flow.rate == 0.0,
        };
        if !injector.stopped {
            for node in 0..nodes {
                // The first cycle is as likely as any other: cycle −1 was the last one with a packet.
                let due = injector.after(node, u64::MAX);
                injector.put(node, due);
            }
        }
        Ok(injector)
    }

    /// Sends no more packets.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    fn put(&mut self, node: usize, due: u64) {
        let row = (due & (self.rows.len() as u64 - 1)) as usize;
        self.due[node] = due;
        self.next[node] = self.rows[row];
        self.rows[row] = node as u32;
    }

    /// The cycle of the node's next packet after one in cycle `now`.
    #[inline]
    fn after(&mut self, node: usize, now: u64) -> u64 {
        let rng = &mut self.rng[node];
        let mut at = now.wrapping_add(self.gaps.draw(rng));
        if let Some(b) = &mut self.bursts {
            // Beyond the burst's end the rest of the gap starts anew behind the pause: geometric gaps have no memory.
            while at >= b.on_until[node] {
                let on_from = b.on_until[node].max(now.wrapping_add(1)) + b.pause.draw(rng);
                b.on_until[node] = on_from + b.length.draw(rng);
                at = on_from - 1 + self.gaps.draw(rng);
            }
        }
        at
    }

    /// Injects the packets of the network's current cycle. Gives their number.
    #[inline]
    pub fn poll<A: Arbiter>(&mut self, network: &mut Network<A>) -> u64 {
        if self.stopped {
            return 0;
        }
        let now = network.now().0;
        let row = (now & (self.rows.len() as u64 - 1)) as usize;
        let mut node = std::mem::replace(&mut self.rows[row], NONE);
        let mut born = 0;
        while node != NONE {
            let n = node as usize;
            let following = self.next[n];
            if self.due[n] == now {
                let dst = NodeId(self.destinations.draw(node, &mut self.rng[n]));
                network.enqueue(Packet { src: NodeId(node), dst, flits: self.packet, header: self.header, tag: 0 });
                born += 1;
                let due = self.after(n, now);
                self.put(n, due);
            } else {
                self.put(n, self.due[n]);
            }
            node = following;
        }
        born
    }
}
