//! What the timing wheels bring in a cycle: credits and flits. They commute: an input is ready when it has been given an
//! output virtual channel, holds a flit and has a credit, and each event looks at all three.

use super::super::Network;
use super::super::flit::Flit;
use super::super::set::Set;
use super::super::state::{Endpoint, Slots};
use super::super::table::{Reading, View};
use super::super::wheel::{Row, Wheel};
use super::ejected::Ejected;
use super::node::{Node, SOURCE, Source, TO_ENDPOINT};
use super::send::head_at_front;
use super::{ONE_HOP, Queues, Way, Wheels};
use crate::arbiter::Arbiter;
use crate::network::inspect::Journey;
use crate::packet::Sink;
use crate::routing::Choice;

impl<A: Arbiter> Network<A> {
    #[inline(never)]
    pub(super) fn arrive_lean<const UNIFORM: bool, const PLAIN: bool, S: Sink>(&mut self, sink: &mut S) {
        let lean = &mut self.lean;
        let Wheels { moves, arrivals, credits, injected, returned } = &mut lean.wheels;
        let mut at = Arriving {
            nodes: lean.nodes.view(),
            sources: lean.sources.view(),
            active: &mut self.active,
            queues: &mut lean.queues,
            way: Way {
                route: Reading(self.route.as_slice()),
                masks: Reading(self.masks.as_slice()),
                lanes: self.lanes,
                table_two: self.table_two,
                turns: self.routes.choice == Choice::Intermediate,
                graph: &self.graph,
            },
            slots: &mut self.slots,
            journeys: self.journeys.as_deref_mut(),
            now: self.now,
            bounded: self.bounded.then(|| Bounded {
                ejected: &mut lean.ejected,
                endpoints: &mut self.endpoints,
                receiving: &mut self.receiving,
                outputs: self.outputs.as_slice(),
                router_inputs: self.router_inputs,
            }),
            sink,
        };
        credits.drain(self.now).iter().for_each(|c| at.credit_arrives(*c));
        if UNIFORM {
            returned.drain(self.now).iter().for_each(|c| at.credit_arrives_at_router(*c as usize));
            let mut back = ByRow(returned.open(self.now + ONE_HOP));
            for m in moves.drain(self.now) {
                at.credit_arrives_at_router(m.credit as usize);
                at.flit_arrives::<PLAIN, _>(m.flit, m.to, &mut back);
            }
            arrivals.drain(self.now).iter().for_each(|a| at.flit_arrives::<PLAIN, _>(a.flit, a.to, &mut back));
            injected.drain(self.now).iter().for_each(|a| at.flit_arrives::<PLAIN, _>(a.flit, a.to, &mut back));
            let n = back.0.len();
            returned.close(self.now + ONE_HOP, n);
        } else {
            // Followed from the middle of a run on, a uniform network still has events in the others.
            returned.drain(self.now).iter().for_each(|c| at.credit_arrives(*c));
            let mut back = ByDelay { credits, now: self.now };
            for m in moves.drain(self.now) {
                at.credit_arrives(m.credit);
                at.flit_arrives::<false, _>(m.flit, m.to, &mut back);
            }
            arrivals.drain(self.now).iter().for_each(|a| at.flit_arrives::<false, _>(a.flit, a.to, &mut back));
            injected.drain(self.now).iter().for_each(|a| at.flit_arrives::<false, _>(a.flit, a.to, &mut back));
        }
    }
}

/// Where an endpoint's credits go.
trait Back {
    fn put<S>(&mut self, node: &Node<S>, m: u32);
}

struct ByRow<'a>(Row<'a, u32>);

impl Back for ByRow<'_> {
    #[inline(always)]
    fn put<S>(&mut self, _node: &Node<S>, m: u32) {
        self.0.push(m);
    }
}

struct ByDelay<'a> {
    credits: &'a mut Wheel<u32>,
    now: u64,
}

impl Back for ByDelay<'_> {
    fn put<S>(&mut self, node: &Node<S>, m: u32) {
        self.credits.push(self.now + u64::from(node.return_delay[(m >> 3 & 7) as usize]), m);
    }
}

/// What arrivals write.
struct Arriving<'a, A, S> {
    nodes: View<'a, Node<A>>,
    sources: View<'a, Source>,
    active: &'a mut Set,
    queues: &'a mut Queues,
    way: Way<'a>,
    slots: &'a mut Slots,
    journeys: Option<&'a mut Journey>,
    now: u64,
    bounded: Option<Bounded<'a>>,
    sink: &'a mut S,
}

/// What flits before bounded endpoints write.
struct Bounded<'a> {
    ejected: &'a mut Ejected,
    endpoints: &'a mut [Endpoint],
    receiving: &'a mut Set,
    outputs: &'a [u32],
    router_inputs: u32,
}

impl Bounded<'_> {
    /// A flit stands before the endpoint behind output virtual channel `m`.
    fn hold(&mut self, flit: Flit, m: u32) {
        let node = (self.outputs[(m >> 3) as usize] - self.router_inputs) as usize;
        self.ejected.put(node << 3 | (m & 7) as usize, flit);
        self.endpoints[node].holding |= 1 << (m & 7);
        self.receiving.insert(node);
    }
}

impl<A, S: Sink> Arriving<'_, A, S> {
    #[inline(always)]
    fn credit_arrives(&mut self, to: u32) {
        if to & SOURCE == 0 {
            return self.credit_arrives_at_router(to as usize);
        }
        let (node, v) = ((to & !SOURCE) as usize >> 3, (to & 7) as usize);
        let source = &mut self.sources[node];
        source.credits[v] += 1;
        source.credit |= 1 << v;
    }

    /// A credit of output virtual channel `m` comes back.
    #[inline(always)]
    fn credit_arrives_at_router(&mut self, m: usize) {
        let node = &mut self.nodes[m >> 6];
        node.lanes[m & 63].credits += 1;
        node.credit.set(m);
        if !node.free.has(m) {
            let i = usize::from(node.lanes[m & 63].owner);
            if node.lanes[i].count > 0 {
                node.ready |= 1 << i;
                self.active.insert(m >> 6);
            }
        }
    }

    #[inline(always)]
    fn flit_arrives<const PLAIN: bool, B: Back>(&mut self, flit: Flit, to: u32, back: &mut B) {
        if to & TO_ENDPOINT != 0 {
            return self.leaves::<PLAIN, _>(flit, to & !TO_ENDPOINT, back);
        }
        let (n, i) = (to as usize, to as usize & 63);
        let node = &mut self.nodes[n >> 6];
        let count = node.lanes[i].count;
        node.lanes[i].count = count + 1;
        if count > 0 {
            return self.queues.put(node, n, count, flit);
        }
        node.lanes[i].front = flit;
        if flit.head() {
            head_at_front::<PLAIN, _>(node, i, flit, &self.way, self.slots);
            return self.active.insert(n >> 6);
        }
        // A body flit: its packet holds a channel, and needs a credit.
        if node.credit.has(usize::from(node.lanes[i].out) << 3 | usize::from(node.lanes[i].given)) {
            node.ready |= 1 << i;
            self.active.insert(n >> 6);
        }
    }

    /// A flit has left the network by output virtual channel `m`: an unbounded endpoint frees its place at once.
    #[inline(always)]
    fn leaves<const PLAIN: bool, B: Back>(&mut self, flit: Flit, m: u32, back: &mut B) {
        if !PLAIN && let Some(bounded) = &mut self.bounded {
            return bounded.hold(flit, m);
        }
        back.put(&self.nodes[(m >> 6) as usize], m);
        if flit.tail() {
            let delivered = self.slots.deliver(flit, self.now);
            if let Some(j) = self.journeys.as_deref_mut() {
                j.note_arrival(&delivered);
            }
            self.sink.delivered(&delivered);
        }
    }
}
