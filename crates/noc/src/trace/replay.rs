//! Replay: each packet is injected at its cycle, or when the last packet that it depends on has arrived, if that is
//! later. Idle stretches cost nothing.

use super::Trace;
use crate::arbiter::Arbiter;
use crate::error::{NocError, bad};
use crate::experiment::{Endpoints, Histogram};
use crate::network::Network;
use crate::packet::{Delivered, Header, Packet, Sink};
use baton_units::{Cycles, NodeId};
use serde::Serialize;

/// How to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Bytes a flit carries; lengths in bytes are rounded up.
    pub flit_bytes: u32,
    /// Whether dependencies are obeyed; without them every packet goes at its cycle.
    pub dependencies: bool,
    /// Cycles that a bounded endpoint takes for a packet before its place is free again.
    pub endpoint_service: u32,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { flit_bytes: 16, dependencies: true, endpoint_service: 0 }
    }
}

/// What a replay gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayResult {
    /// Packets that arrived: all of the trace.
    pub packets: u64,
    /// Flits.
    pub flits: u64,
    /// Dependencies in the trace.
    pub dependencies: u64,
    /// Cycle after the last arrival.
    pub cycles: u64,
    /// Cycles that the trace says it spans.
    pub trace_cycles: u64,
    /// Mean packet latency, from injection.
    pub packet_latency: f64,
    /// Mean network latency.
    pub network_latency: f64,
    /// Median packet latency.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
    /// Mean routers passed.
    pub hops: f64,
    /// Mean cycles by which packets were injected later than their cycle, because of dependencies.
    pub held_back: f64,
    /// One for each flit and router passed.
    pub flit_hops: u64,
}

#[derive(Default)]
struct Arrived(Vec<Delivered>);

impl Sink for Arrived {
    fn delivered(&mut self, packet: &Delivered) {
        self.0.push(*packet);
    }
}

impl Replay {
    /// Replays `trace` on `network`, which is empty. Errors: a trace with more nodes or classes than the network; a
    /// network that comes to a stop with packets inside.
    pub fn run<A: Arbiter>(&self, trace: &Trace, network: &mut Network<A>) -> Result<ReplayResult, NocError> {
        if trace.nodes > network.nodes() {
            return Err(bad("topology", network.nodes(), format!("at least the trace's {} nodes", trace.nodes)));
        }
        if self.flit_bytes == 0 {
            return Err(bad("flit_bytes", 0, "at least 1"));
        }
        let classes = network.config().classes;
        let mut waits = vec![0u32; trace.packets.len()];
        if self.dependencies {
            trace.packets.iter().flat_map(|p| &p.dependents).for_each(|d| waits[*d as usize] += 1);
        }
        let inject = |network: &mut Network<A>, place: usize| {
            let p = &trace.packets[place];
            let flits = if p.flits > 0 { p.flits } else { p.bytes.div_ceil(self.flit_bytes) };
            // A network with fewer classes carries the upper ones in its last.
            let class = u32::from(p.class).min(classes - 1) as u8;
            let header = Header::of_class(class);
            network.inject(Packet { src: NodeId(p.src), dst: NodeId(p.dst), flits, header, tag: place as u64 })
        };
        let (mut next, mut held) = (0, 0u64);
        let mut arrived = Arrived::default();
        let (mut packet, mut inside) = (Histogram::default(), Histogram::default());
        let (mut hops, mut flits) = (0u64, 0u64);
        let mut last_arrival = 0;
        let mut endpoints = Endpoints::new(self.endpoint_service, network);
        let bounded = endpoints.listen();
        loop {
            let now = network.now().0;
            while endpoints.next_done(now, network).is_some() {}
            while let Some(p) = trace.packets.get(next).filter(|p| p.cycle <= now) {
                if waits[next] == 0 {
                    held += now - p.cycle;
                    inject(network, next)?;
                }
                next += 1;
            }
            let due = trace.packets.get(next).map(|p| p.cycle).into_iter().chain(endpoints.next()).min();
            match (network.next_activity(), due) {
                (Some(at), due) if due.is_none_or(|d| at.0 < d) => network.run_to(at, &mut arrived),
                (_, Some(due)) => {
                    network.run_to(Cycles(due), &mut arrived);
                    continue;
                }
                (_, None) => break,
            }
            if now > last_arrival + STUCK && network.in_flight() > 0 && due.is_none() {
                return Err(bad("network", "stuck", "a network in which packets arrive; `baton noc explain` says why"));
            }
            network.step(&mut arrived);
            for d in std::mem::take(&mut arrived.0) {
                last_arrival = d.arrived.0;
                if bounded {
                    endpoints.arrive(&d);
                }
                packet.add(d.packet_latency().0);
                inside.add(d.network_latency().0);
                hops += u64::from(d.hops);
                flits += u64::from(d.flits);
                if !self.dependencies {
                    continue;
                }
                for &dependent in &trace.packets[d.tag as usize].dependents {
                    let dependent = dependent as usize;
                    waits[dependent] -= 1;
                    if waits[dependent] == 0 && dependent < next {
                        held += network.now().0 - trace.packets[dependent].cycle;
                        inject(network, dependent)?;
                    }
                }
            }
        }
        let packets = packet.total();
        if packets < trace.packets.len() as u64 {
            return Err(bad("trace", packets, format!("{} packets to arrive", trace.packets.len())));
        }
        let mean = |sum: u64| sum as f64 / packets.max(1) as f64;
        Ok(ReplayResult {
            packets,
            flits,
            dependencies: trace.dependencies(),
            cycles: last_arrival + 1,
            trace_cycles: trace.cycles,
            packet_latency: packet.mean(),
            network_latency: inside.mean(),
            p50: packet.percentile(0.5),
            p99: packet.percentile(0.99),
            max: packet.max(),
            hops: mean(hops),
            held_back: mean(held),
            flit_hops: network.flit_hops(),
        })
    }
}

/// Cycles without an arrival, nothing being due, after which the network counts as stuck.
const STUCK: u64 = 100_000;
