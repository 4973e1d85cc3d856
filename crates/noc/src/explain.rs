//! Why is it slow, or stuck: who waits for whom, where flits stand, one packet's way.

use crate::arbiter::Arbiter;
use crate::experiment::{Experiment, LinkLoad};
use crate::network::{JourneyStep, Network, Stuck};
use crate::packet::{Delivered, PacketId};
use crate::traffic::Injector;
use crate::{NocError, with_arbiter};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Cycles simulated.
    pub cycles: u64,
    /// Packets created and delivered.
    pub packets: (u64, u64),
    /// Nothing moved for this many cycles at the end, while packets were in flight.
    pub still_for: u64,
    /// A ring of packets that wait for each other, one line a packet; empty if there is none.
    pub deadlock: Vec<String>,
    /// Channels, busiest first.
    pub links: Vec<LinkLoad>,
    /// Flits that stood in each router's buffers, mean of each tenth of the run, by tenth and router.
    pub held: Vec<Vec<f64>>,
    /// Age of the oldest packet at the end, in cycles.
    pub oldest: u64,
    /// The packet that was followed: its way.
    pub journey: Vec<String>,
}

const TENTHS: u64 = 10;

/// Runs `experiment` for its `cycles`, without warm-up, and looks. `follow` is the number of a packet.
pub fn explain(experiment: &Experiment, follow: Option<u64>) -> Result<Explanation, NocError> {
    with_arbiter!(&experiment.network, |arbiter| explain_with(experiment, arbiter, follow))
}

fn explain_with<A: Arbiter>(e: &Experiment, arbiter: A, follow: Option<u64>) -> Result<Explanation, NocError> {
    let mut network = Network::with_arbiter(&e.network, arbiter)?;
    let mut injectors = (0u64..)
        .zip(&e.traffic)
        .map(|(i, flow)| Injector::new(flow, network.graph(), e.network.classes, e.seed, i))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(id) = follow {
        network.follow(PacketId(id), PacketId(id));
    }
    let mut arrived: Vec<Delivered> = vec![];
    let (mut born, mut delivered) = (0, 0);
    let (mut hops, mut moved_at) = (0, 0);
    let tenth = (e.cycles / TENTHS).max(1);
    let mut held = vec![];
    let mut sums = vec![0u64; network.graph().routers as usize];
    for cycle in 0..tenth * TENTHS {
        for injector in &mut injectors {
            born += injector.poll(&mut network);
        }
        network.step(&mut arrived);
        delivered += arrived.drain(..).count() as u64;
        if cycle % SAMPLE == 0 {
            for c in network.channel_views().filter(|c| !c.to_endpoint) {
                sums[c.to as usize] += u64::from(c.held);
            }
            let now = network.flit_hops();
            if now != hops || network.in_flight() == 0 {
                (hops, moved_at) = (now, cycle);
            }
        }
        if (cycle + 1) % tenth == 0 {
            let samples = tenth.div_ceil(SAMPLE) as f64;
            held.push(sums.iter_mut().map(|s| std::mem::take(s) as f64 / samples).collect());
        }
    }
    let now = network.now().0;
    let mut links = crate::experiment::link_loads(&network);
    links.sort_by(|a, b| b.flits.cmp(&a.flits).then(a.from.cmp(&b.from)).then(a.to.cmp(&b.to)));
    Ok(Explanation {
        cycles: now,
        packets: (born, delivered),
        still_for: now - moved_at,
        deadlock: waiting_ring(&network),
        links,
        held,
        oldest: network.oldest().map_or(0, |c| now - c.0),
        journey: network.journey().map(|j| journey(&j.steps, &j.arrived)).unwrap_or_default(),
    })
}

/// Cycles between looks into the buffers.
const SAMPLE: u64 = 8;

/// A ring of packets, each of which waits for the next, as lines; empty if there is none.
///
/// A packet that may take any of several virtual channels is stuck only if all their holders are: holders outside the
/// set of the stuck are taken away until nothing changes, and what remains contains a ring.
pub fn waiting_ring<A: Arbiter>(network: &Network<A>) -> Vec<String> {
    // A long packet also waits for itself: its body for the places that its own head fills. Its head says why.
    let heads = network.stuck().into_iter().filter(|s| s.waits_for.iter().any(|w| *w != s.packet));
    let mut stuck: BTreeMap<PacketId, Stuck> = heads.map(|s| (s.packet, s)).collect();
    loop {
        let free: Vec<PacketId> = stuck
            .values()
            .filter(|s| s.waits_for.iter().any(|w| *w != s.packet && !stuck.contains_key(w)))
            .map(|s| s.packet)
            .collect();
        if free.is_empty() {
            break;
        }
        stuck.retain(|p, _| !free.contains(p));
    }
    let Some(mut at) = stuck.keys().next().copied() else { return vec![] };
    let mut path: Vec<PacketId> = vec![];
    while !path.contains(&at) {
        path.push(at);
        let waits_for = &stuck[&at].waits_for;
        at = waits_for.iter().find(|w| **w != at).copied().unwrap_or(at);
    }
    let from = path.iter().position(|p| *p == at).unwrap_or(0);
    path[from..].iter().map(|p| line(&stuck[p])).collect()
}

fn line(s: &Stuck) -> String {
    let what = match s.given {
        Some(v) => format!("a credit of virtual channel {v} of output {}", s.port),
        None => format!("a virtual channel of output {}", s.port),
    };
    let next = s.waits_for.iter().find(|w| **w != s.packet).copied().unwrap_or(s.packet);
    format!(
        "packet {} in router {}, input {} virtual channel {}, waits for {what}, which packet {} holds",
        s.packet.0, s.router, s.at.0, s.at.1, next.0
    )
}

fn journey(steps: &[JourneyStep], arrived: &[Delivered]) -> Vec<String> {
    let mut lines: Vec<String> =
        steps.iter().map(|s| format!("cycle {}: leaves router {} by output {}", s.cycle.0, s.router, s.port)).collect();
    for d in arrived {
        lines.insert(0, format!("cycle {}: created at node {}, for node {}", d.created.0, d.src, d.dst));
        lines.insert(1, format!("cycle {}: head flit enters the network", d.entered.0));
        lines.push(format!("cycle {}: tail flit leaves the network", d.arrived.0));
    }
    lines
}
