//! Replay of a trace: each packet is injected at its cycle, or when the last packet on which it
//! depends has arrived, if that is later. Idle stretches take no time to simulate.

use super::Trace;
use crate::arbiter::Arbiter;
use crate::error::{NocError, bad};
use crate::experiment::{Endpoints, Histogram};
use crate::network::Network;
use crate::packet::{Delivered, Header, Packet, Sink};
use baton_units::{Cycles, NodeId};
use serde::Serialize;

/// How to replay a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Bytes that a flit carries, at least 1; lengths in bytes are rounded up to flits.
    pub flit_bytes: u32,
    /// Whether packets wait for the packets on which they depend; otherwise every packet is
    /// injected at its cycle.
    pub dependencies: bool,
    /// Cycles for which a bounded endpoint serves a packet before its place is free again.
    pub endpoint_service: u32,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay { flit_bytes: 16, dependencies: true, endpoint_service: 0 }
    }
}

/// The results of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayResult {
    /// Number of packets that arrived, which are all packets of the trace.
    pub packets: u64,
    /// Number of flits that arrived.
    pub flits: u64,
    /// Number of dependencies in the trace.
    pub dependencies: u64,
    /// The cycle after the last arrival.
    pub cycles: u64,
    /// The trace's own number of cycles, [`Trace::cycles`].
    pub trace_cycles: u64,
    /// Mean packet latency in cycles, from injection.
    pub packet_latency: f64,
    /// Mean network latency in cycles.
    pub network_latency: f64,
    /// Median packet latency in cycles.
    pub p50: u64,
    /// The 99th percentile of the packet latency in cycles.
    pub p99: u64,
    /// Largest packet latency in cycles.
    pub max: u64,
    /// Mean number of routers that a packet passes.
    pub hops: f64,
    /// Mean number of cycles for which dependencies delayed a packet beyond its own cycle.
    pub held_back: f64,
    /// Sum over all flits of the routers that they passed.
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
    /// Replays `trace` on `network`, which must be empty. Fails if the trace has more nodes than
    /// the network, if `flit_bytes` is 0, or if the network stops moving with packets inside.
    /// Packets of classes that the network lacks travel in its last class.
    pub fn run<A: Arbiter>(&self, trace: &Trace, network: &mut Network<A>) -> Result<ReplayResult, NocError> {
        if trace.nodes > network.nodes() {
            return Err(bad("topology", network.nodes(), format!("at least the trace's {} nodes", trace.nodes)));
        }
        if self.flit_bytes == 0 {
            return Err(bad("flit_bytes", 0, "at least 1"));
        }
        let mut running = Running::new(self, trace, network);
        running.run(network)?;
        running.result(network)
    }
}

/// A replay in progress.
struct Running<'a> {
    trace: &'a Trace,
    replay: Replay,
    /// By packet of the trace: number of packets on which it depends and that have not arrived.
    waits: Vec<u32>,
    /// The first packet whose cycle has not come.
    next: usize,
    endpoints: Endpoints,
    /// Whether endpoints hold packets until they have served them.
    bounded: bool,
    last_arrival: u64,
    /// Sum of the cycles for which packets were delayed beyond their own cycle.
    held: u64,
    packet: Histogram,
    inside: Histogram,
    hops: u64,
    flits: u64,
}

impl<'a> Running<'a> {
    fn new<A: Arbiter>(replay: &Replay, trace: &'a Trace, network: &Network<A>) -> Running<'a> {
        let mut waits = vec![0u32; trace.packets.len()];
        if replay.dependencies {
            trace.packets.iter().flat_map(|p| &p.dependents).for_each(|d| waits[*d as usize] += 1);
        }
        let endpoints = Endpoints::new(replay.endpoint_service, network);
        Running {
            trace,
            replay: *replay,
            waits,
            next: 0,
            bounded: endpoints.listen(),
            endpoints,
            last_arrival: 0,
            held: 0,
            packet: Histogram::default(),
            inside: Histogram::default(),
            hops: 0,
            flits: 0,
        }
    }

    /// Runs until no packet is due and nothing moves.
    fn run<A: Arbiter>(&mut self, network: &mut Network<A>) -> Result<(), NocError> {
        let mut arrived = Arrived::default();
        loop {
            let now = network.now().0;
            while self.endpoints.next_done(now, network).is_some() {}
            self.inject_due(now, network)?;
            let due = self.trace.packets.get(self.next).map(|p| p.cycle);
            let due = due.into_iter().chain(self.endpoints.next()).min();
            match (network.next_activity(), due) {
                (Some(at), due) if due.is_none_or(|d| at.0 < d) => network.run_to(at, &mut arrived),
                (_, Some(due)) => {
                    network.run_to(Cycles(due), &mut arrived);
                    continue;
                }
                (_, None) => return Ok(()),
            }
            if now > self.last_arrival + STUCK && network.in_flight() > 0 && due.is_none() {
                return Err(bad("network", "stuck", "a network in which packets arrive; `baton noc explain` says why"));
            }
            network.step(&mut arrived);
            for packet in std::mem::take(&mut arrived.0) {
                self.arrives(&packet, network)?;
            }
        }
    }

    /// Injects the packets whose cycle has come and that wait for no other packet.
    fn inject_due<A: Arbiter>(&mut self, now: u64, network: &mut Network<A>) -> Result<(), NocError> {
        while let Some(p) = self.trace.packets.get(self.next).filter(|p| p.cycle <= now) {
            if self.waits[self.next] == 0 {
                self.held += now - p.cycle;
                self.inject(self.next, network)?;
            }
            self.next += 1;
        }
        Ok(())
    }

    fn inject<A: Arbiter>(&self, place: usize, network: &mut Network<A>) -> Result<(), NocError> {
        let p = &self.trace.packets[place];
        let flits = if p.flits > 0 { p.flits } else { p.bytes.div_ceil(self.replay.flit_bytes) };
        // A network with fewer classes than the trace carries the upper ones in its last class.
        let class = u32::from(p.class).min(network.config().classes - 1) as u8;
        let header = Header::of_class(class);
        network.inject(Packet { src: NodeId(p.src), dst: NodeId(p.dst), flits, header, tag: place as u64 }).map(drop)
    }

    fn arrives<A: Arbiter>(&mut self, d: &Delivered, network: &mut Network<A>) -> Result<(), NocError> {
        self.last_arrival = d.arrived.0;
        if self.bounded {
            self.endpoints.arrive(d);
        }
        self.packet.add(d.packet_latency().0);
        self.inside.add(d.network_latency().0);
        self.hops += u64::from(d.hops);
        self.flits += u64::from(d.flits);
        if !self.replay.dependencies {
            return Ok(());
        }
        for &dependent in &self.trace.packets[d.tag as usize].dependents {
            let dependent = dependent as usize;
            self.waits[dependent] -= 1;
            if self.waits[dependent] == 0 && dependent < self.next {
                self.held += network.now().0 - self.trace.packets[dependent].cycle;
                self.inject(dependent, network)?;
            }
        }
        Ok(())
    }

    fn result<A: Arbiter>(&self, network: &Network<A>) -> Result<ReplayResult, NocError> {
        let (packets, all) = (self.packet.total(), self.trace.packets.len());
        if packets < all as u64 {
            return Err(bad("trace", packets, format!("{all} packets to arrive")));
        }
        let mean = |sum: u64| sum as f64 / packets.max(1) as f64;
        Ok(ReplayResult {
            packets,
            flits: self.flits,
            dependencies: self.trace.dependencies(),
            cycles: self.last_arrival + 1,
            trace_cycles: self.trace.cycles,
            packet_latency: self.packet.mean(),
            network_latency: self.inside.mean(),
            p50: self.packet.percentile(0.5),
            p99: self.packet.percentile(0.99),
            max: self.packet.max(),
            hops: mean(self.hops),
            held_back: mean(self.held),
            flit_hops: network.flit_hops(),
        })
    }
}

/// Number of cycles without an arrival, while no packet is due, after which the network counts as
/// stuck.
const STUCK: u64 = 100_000;
