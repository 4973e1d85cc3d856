//! A flow as the user writes it in a configuration.

use super::pattern::Pattern;
use crate::error::{NocError, bad};
use crate::packet::Header;
use serde::{Deserialize, Serialize};

/// One stream of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flow {
    /// How destinations are chosen.
    pub pattern: Pattern,
    /// Packets per node per cycle.
    pub rate: f64,
    /// Length of a packet in flits.
    pub packet: u32,
    /// Header of the packets, with their message class.
    pub header: Header,
    /// Mean length of a burst in cycles; 0 means a Bernoulli process without bursts. In a burst a
    /// node sends at `burst_rate`, between bursts nothing, such that the mean rate is `rate`.
    pub burst: f64,
    /// Packets per node per cycle inside a burst.
    pub burst_rate: f64,
    /// For `hotspot`: the share of packets that go to the hot nodes; the others go to any node.
    pub hot_share: f64,
    /// For `hotspot`: the hot nodes, which together receive the share `hot_share` of the packets.
    pub hot_nodes: Vec<u32>,
    /// Largest number of packets of one node under way; 0 means no limit. A packet is under way
    /// from its creation until it arrives or, with `reply`, until its reply arrives. A packet that
    /// is due while its node is at the limit is created in the cycle after one of the node's
    /// packets has completed.
    pub outstanding: u32,
    /// Number of packets that each node sends in all; 0 means no end. A run with batches lasts
    /// until the last of these packets (and its reply) has arrived.
    pub batch: u64,
    /// The reply to each packet; none if left out.
    pub reply: Option<Reply>,
}

/// The reply to each packet of a flow. It goes back to the sender as soon as the endpoint has
/// served the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// Message class of the reply, which must differ from that of the request: a request must never
    /// block a reply.
    pub class: u8,
    /// Length of the reply in flits.
    pub packet: u32,
}

impl Default for Reply {
    fn default() -> Reply {
        Reply { class: 1, packet: 1 }
    }
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
            outstanding: 0,
            batch: 0,
            reply: None,
        }
    }
}

impl Flow {
    /// Checks every value for a network with this number of nodes and classes. An error names the
    /// key and its range.
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
        // The mean pause that gives the mean rate must be at least one cycle.
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
        self.validate_loop(classes)
    }

    fn validate_loop(&self, classes: u32) -> Result<(), NocError> {
        if self.outstanding > 1 << 20 {
            return Err(bad("outstanding", self.outstanding, "0 (no bound) to 1048576"));
        }
        if self.batch > 1_000_000_000_000 {
            return Err(bad("batch", self.batch, "0 (without end) to 1e12 packets a node"));
        }
        if self.batch > 0 && self.rate == 0.0 {
            return Err(bad("rate", self.rate, "above 0 for a batch that comes to its end"));
        }
        let Some(reply) = self.reply else { return Ok(()) };
        if !(1..=4096).contains(&reply.packet) {
            return Err(bad("reply.packet", reply.packet, "1 to 4096 flits"));
        }
        if u32::from(reply.class) >= classes {
            return Err(bad("reply.class", reply.class, format!("a class from 0 to {}", classes - 1)));
        }
        if reply.class == self.header.class {
            return Err(bad("reply.class", reply.class, "another class than the requests'"));
        }
        Ok(())
    }
}
