//! A running flow: decides which node sends in which cycle.

use super::flow::Flow;
use super::gaps::Gaps;
use super::pattern::Destinations;
use crate::arbiter::Arbiter;
use crate::error::NocError;
use crate::network::Network;
use crate::packet::{Header, Packet};
use crate::rng::Rng;
use crate::topology::Graph;
use baton_units::NodeId;

/// Marks the end of a list of nodes.
const NONE: u32 = u32::MAX;

/// A running flow. The cycle of each node's next packet is kept in a wheel of lists, so that a
/// cycle takes time only for the packets that are created in it.
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
    closed: Option<Closed>,
    tag: u64,
}

/// What a closed flow knows of each node.
#[derive(Clone, Debug)]
struct Closed {
    /// By node: number of further packets that the node may have under way.
    room: Vec<u32>,
    /// By node: number of packets that it has still to send.
    left: Vec<u64>,
    /// By node: whether its next packet is due and waits for room.
    held: Vec<bool>,
    /// Number of packets of all batches that have not completed; 0 also for flows without end.
    unfinished: u64,
}

impl Closed {
    fn new(flow: &Flow, nodes: usize) -> Option<Closed> {
        let bound = |v: u64| if v == 0 { u64::MAX } else { v };
        (flow.outstanding > 0 || flow.batch > 0).then(|| Closed {
            room: vec![bound(flow.outstanding.into()).min(u32::MAX.into()) as u32; nodes],
            left: vec![bound(flow.batch); nodes],
            held: vec![false; nodes],
            unfinished: flow.batch * nodes as u64,
        })
    }

    /// Returns whether the node may send now, and counts the packet if so.
    fn sends(&mut self, node: usize) -> bool {
        let may = self.room[node] > 0;
        self.held[node] = !may;
        if may {
            self.room[node] -= 1;
            self.left[node] -= 1;
        }
        may
    }
}

/// The on–off process, with bursts and pauses of geometric length.
#[derive(Clone, Debug)]
struct Bursts {
    pause: Gaps,
    on_until: Vec<u64>,
    length: Gaps,
}

impl Injector {
    /// Creates an injector for `flow`; `index` separates its random streams from those of other
    /// flows. Fails if the flow does not fit the graph.
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
            closed: Closed::new(flow, nodes),
            tag: 0,
        };
        if !injector.stopped {
            for node in 0..nodes {
                // The first cycle is as likely as any other, as if every node had sent a packet in
                // cycle −1.
                let due = injector.after(node, u64::MAX);
                injector.put(node, due);
            }
        }
        Ok(injector)
    }

    /// Stops the flow: it sends no more packets.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Sets the tag of the packets that the flow sends.
    pub(crate) fn set_tag(&mut self, tag: u64) {
        self.tag = tag;
    }

    /// Tells a closed flow that a packet of `node` completed before cycle `now`: its reply arrived,
    /// or it arrived itself if it gets none.
    pub fn ended(&mut self, node: NodeId, now: u64) {
        let n = node.0 as usize;
        let Some(c) = &mut self.closed else { return };
        c.unfinished = c.unfinished.saturating_sub(1);
        c.room[n] += 1;
        if std::mem::take(&mut c.held[n]) {
            self.put(n, now);
        }
    }

    /// Number of packets of the flow's batches that have not completed.
    pub fn unfinished(&self) -> u64 {
        self.closed.as_ref().map_or(0, |c| c.unfinished)
    }

    fn put(&mut self, node: usize, due: u64) {
        let row = (due & (self.rows.len() as u64 - 1)) as usize;
        self.due[node] = due;
        self.next[node] = self.rows[row];
        self.rows[row] = node as u32;
    }

    /// Returns the cycle of the node's next packet after one in cycle `now`.
    #[inline]
    fn after(&mut self, node: usize, now: u64) -> u64 {
        let rng = &mut self.rng[node];
        let mut at = now.wrapping_add(self.gaps.draw(rng));
        if let Some(b) = &mut self.bursts {
            // A gap that passes the end of the burst is drawn anew after the pause, because
            // geometric gaps have no memory.
            while at >= b.on_until[node] {
                let on_from = b.on_until[node].max(now.wrapping_add(1)) + b.pause.draw(rng);
                b.on_until[node] = on_from + b.length.draw(rng);
                at = on_from - 1 + self.gaps.draw(rng);
            }
        }
        at
    }

    /// Injects the packets of the network's current cycle. Returns their number.
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
                if self.closed.as_mut().is_none_or(|c| c.sends(n)) {
                    let dst = NodeId(self.destinations.draw(node, &mut self.rng[n]));
                    let (flits, header) = (self.packet, self.header);
                    network.enqueue(Packet { src: NodeId(node), dst, flits, header, tag: self.tag });
                    born += 1;
                    let due = self.after(n, now);
                    if self.closed.as_ref().is_none_or(|c| c.left[n] > 0) {
                        self.put(n, due);
                    }
                }
            } else {
                self.put(n, self.due[n]);
            }
            node = following;
        }
        born
    }
}
