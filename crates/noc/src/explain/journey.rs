//! The journey of one packet, cycle by cycle: where its head flit is, and what it waits for.

use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::network::{Network, Stuck};
use crate::packet::{Delivered, PacketId};
use serde::Serialize;

/// The recorded journey of one packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Journey {
    /// Number of the packet, in the order of creation.
    pub packet: u64,
    /// Node of the sender; absent, like `dst` and `flits`, while the packet has not arrived.
    pub src: Option<u32>,
    /// Node of the receiver.
    pub dst: Option<u32>,
    /// Length of the packet in flits.
    pub flits: Option<u32>,
    /// What the head flit does, in order of time. If the packet has arrived, the last stage is the
    /// tail's arrival.
    pub stages: Vec<Stage>,
}

/// A span of cycles that the head flit spends in one place with one activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// First cycle of the stage.
    pub from: u64,
    /// The cycle after the last one of the stage.
    pub to: u64,
    /// Name of the place: `source queue`, `router 3`, `link 3 -> 4` and so on.
    pub place: String,
    /// What happens there, in words.
    pub what: String,
    /// Whether the packet stands still while something else goes first.
    pub waits: bool,
}

/// Watches one packet and collects the reasons why it does not move.
pub(super) struct Follow {
    id: u64,
    /// Cycles in which the packet did not move, each with the reason.
    reasons: Vec<(u64, String)>,
}

impl Follow {
    pub(super) fn new(id: u64) -> Follow {
        Follow { id, reasons: vec![] }
    }

    /// Notes what holds the packet up, after a cycle was simulated. `born` is the number of packets
    /// created so far.
    pub(super) fn look<A: Arbiter>(&mut self, network: &Network<A>, born: u64) {
        let here = self.id < born && network.journey().is_some_and(|j| j.arrived.is_empty());
        if !here {
            return;
        }
        if let Some(s) = network.stuck().into_iter().find(|s| s.packet == PacketId(self.id)) {
            self.reasons.push((network.now().0 - 1, reason(&s)));
        }
    }

    /// Returns what was recorded of the journey, or `None` if no router has granted its switch to
    /// the packet's head flit yet.
    pub(super) fn journey<A: Arbiter>(&self, network: &Network<A>) -> Option<Journey> {
        let journey = network.journey()?;
        let done = journey.arrived.first();
        let config = network.config();
        let mut stages = vec![];
        let mut at = 0;
        if let Some(d) = done {
            let l = config.latency;
            if d.entered > d.created {
                let what = "waits for packets before it, or for a virtual channel";
                stages.push(stage(d.created.0, d.entered.0, "source queue", what, true));
            }
            at = d.entered.0 + 1 + u64::from(l.injection);
            stages.push(stage(d.entered.0, at, "injection channel", "enters the network", false));
        }
        let graph = network.graph();
        for step in &journey.steps {
            let (router, granted) = (step.router, step.cycle.0);
            let place = format!("router {router}");
            if at > 0 {
                self.in_router(&mut stages, config, &place, at, granted);
            }
            let link = graph.links.iter().find(|l| l.from == router && l.from_port == step.port);
            let won = granted + hop(config, router, config.latency.switch_alloc);
            let crossed = granted + hop(config, router, config.latency.switch_alloc + config.latency.traversal);
            let what = format!("wins the switch to output {}", step.port);
            stages.push(stage(granted, won, &place, &what, false));
            stages.push(stage(won, crossed, &place, "crosses the switch", false));
            let (name, length) = match link {
                Some(l) => (format!("link {router} -> {}", l.to), l.length * config.latency.link),
                None => ("ejection channel".to_owned(), config.latency.ejection),
            };
            at = crossed + u64::from(length);
            stages.push(stage(crossed, at, &name, "on the wire", false));
        }
        if let Some(d) = done {
            finish(&mut stages, d, at);
        }
        if stages.is_empty() {
            return None;
        }
        Some(Journey {
            packet: self.id,
            src: done.map(|d| d.src.0),
            dst: done.map(|d| d.dst.0),
            flits: done.map(|d| d.flits),
            stages,
        })
    }

    /// Adds the stages in a router, from the cycle `from` in which the head may first bid to the
    /// cycle `granted` of the grant: what held it up, and the allocation of a virtual channel.
    fn in_router(&self, stages: &mut Vec<Stage>, config: &Config, place: &str, from: u64, granted: u64) {
        let vc = match config.pipeline {
            Pipeline::Speculative => 0,
            Pipeline::Nonspeculative => u64::from(config.latency.vc_alloc),
        };
        let why = |cycle: u64| {
            let said = self.reasons.iter().find(|(c, _)| *c == cycle).map(|(_, r)| r.as_str());
            said.unwrap_or("bids, and another goes first")
        };
        let mut cycle = from;
        // Virtual-channel allocation ends just before the first bid for the switch.
        let free = granted.saturating_sub(vc).max(from);
        while cycle < free {
            let (first, what) = (cycle, why(cycle));
            while cycle < free && why(cycle) == what {
                cycle += 1;
            }
            stages.push(stage(first, cycle, place, what, true));
        }
        if free < granted {
            stages.push(stage(free, granted, place, "is given a virtual channel", false));
        }
    }
}

fn finish(stages: &mut Vec<Stage>, d: &Delivered, head_there: u64) {
    if d.arrived.0 > head_there {
        let what = format!("the other {} flits follow", d.flits - 1);
        stages.push(stage(head_there, d.arrived.0, "endpoint", &what, false));
    }
    stages.push(stage(d.arrived.0, d.arrived.0 + 1, "endpoint", "tail flit leaves the network", false));
}

fn stage(from: u64, to: u64, place: &str, what: &str, waits: bool) -> Stage {
    Stage { from, to, place: place.to_owned(), what: what.to_owned(), waits }
}

/// Returns the cycles of the fastest clock that `cycles` cycles of `router` take.
fn hop(config: &Config, router: u32, cycles: u32) -> u64 {
    let domain = config.clocks.iter().rev().find(|d| d.routers.contains(&router));
    let (ticks, within) = domain.map_or((1, 1), |d| (d.numerator, d.denominator));
    u64::from((cycles * within).div_ceil(ticks))
}

fn reason(s: &Stuck) -> String {
    let mut holders: Vec<String> = s.waits_for.iter().filter(|w| **w != s.packet).map(|w| w.0.to_string()).collect();
    holders.sort();
    holders.dedup();
    let who = match holders.as_slice() {
        [] => String::new(),
        [one] => format!(" (packet {one} is in the way)"),
        more => format!(" (packets {} are in the way)", more.join(", ")),
    };
    match s.given {
        Some(v) => format!("waits for a credit of virtual channel {v} of output {}{who}", s.port),
        None => format!("waits for a virtual channel of output {}{who}", s.port),
    }
}
