//! Handles what the timing wheels deliver in a cycle: credits and flits. Their order does not
//! matter: an input is ready when it has an output virtual channel, a flit and a credit, and each
//! event checks all three.

use super::super::endpoint::Endpoint;
use super::super::flit::Flit;
use super::super::journey::Journey;
use super::super::set::Set;
use super::super::slots::Slots;
use super::super::table::View;
use super::super::wheel::{Row, Wheel};
use super::super::whole::Network;
use super::context::Way;
use super::data::{ONE_HOP, Queues, Wheels};
use super::ejected::Ejected;
use super::router::{Router, SOURCE, Source, TO_ENDPOINT};
use super::send::head_at_front;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    #[inline(never)]
    pub(crate) fn arrive_lean<const UNIFORM: bool, const PLAIN: bool, S: Sink>(&mut self, sink: &mut S) {
        let (lean, now) = (&mut self.state.lean, self.state.now);
        let Wheels { moves, arrivals, credits, injected, returned } = &mut lean.wheels;
        let mut at = Arriving {
            routers: lean.routers.view(),
            sources: lean.sources.view(),
            active: &mut self.state.active,
            queues: &mut lean.queues,
            way: Way::of(&self.wiring),
            slots: &mut self.state.slots,
            journeys: self.state.journeys.as_deref_mut(),
            now,
            bounded: self.spec.bounded.then(|| Bounded {
                ejected: &mut lean.ejected,
                endpoints: &mut self.state.endpoints.ends,
                receiving: &mut self.state.endpoints.receiving,
                outputs: self.wiring.outputs.as_slice(),
                router_inputs: self.spec.router_inputs,
            }),
            sink,
        };
        credits.drain(now).iter().for_each(|c| at.credit_arrives(*c));
        if UNIFORM {
            returned.drain(now).iter().for_each(|c| at.credit_arrives_at_router(*c as usize));
            let mut back = ByRow(returned.open(now + ONE_HOP));
            for m in moves.drain(now) {
                at.credit_arrives_at_router(m.credit as usize);
                at.flit_arrives::<PLAIN, _>(m.flit, m.to, &mut back);
            }
            arrivals.drain(now).iter().for_each(|a| at.flit_arrives::<PLAIN, _>(a.flit, a.to, &mut back));
            injected.drain(now).iter().for_each(|a| at.flit_arrives::<PLAIN, _>(a.flit, a.to, &mut back));
            let n = back.0.len();
            returned.close(now + ONE_HOP, n);
        } else {
            // The wheels of the uniform loop still hold events if the network was uniform until
            // packets began to be followed in the middle of a run.
            returned.drain(now).iter().for_each(|c| at.credit_arrives(*c));
            let mut back = ByDelay { credits, now };
            for m in moves.drain(now) {
                at.credit_arrives(m.credit);
                at.flit_arrives::<false, _>(m.flit, m.to, &mut back);
            }
            arrivals.drain(now).iter().for_each(|a| at.flit_arrives::<false, _>(a.flit, a.to, &mut back));
            injected.drain(now).iter().for_each(|a| at.flit_arrives::<false, _>(a.flit, a.to, &mut back));
        }
    }
}

/// Takes the credits that endpoints return.
trait Back {
    fn put<S>(&mut self, router: &Router<S>, m: u32);
}

struct ByRow<'a>(Row<'a, u32>);

impl Back for ByRow<'_> {
    #[inline(always)]
    fn put<S>(&mut self, _router: &Router<S>, m: u32) {
        self.0.push(m);
    }
}

struct ByDelay<'a> {
    credits: &'a mut Wheel<u32>,
    now: u64,
}

impl Back for ByDelay<'_> {
    fn put<S>(&mut self, router: &Router<S>, m: u32) {
        self.credits.push(self.now + u64::from(router.return_delay[(m >> 3 & 7) as usize]), m);
    }
}

/// The state that arriving flits and credits change.
struct Arriving<'a, A, S> {
    routers: View<'a, Router<A>>,
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

/// The state that a flit changes when it arrives before a bounded endpoint.
struct Bounded<'a> {
    ejected: &'a mut Ejected,
    endpoints: &'a mut [Endpoint],
    receiving: &'a mut Set,
    outputs: &'a [u32],
    router_inputs: u32,
}

impl Bounded<'_> {
    /// Stores a flit that now stands before the endpoint behind output virtual channel `m`.
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

    /// Handles a credit that comes back for output virtual channel `m`.
    #[inline(always)]
    fn credit_arrives_at_router(&mut self, m: usize) {
        let router = &mut self.routers[m >> 6];
        router.lanes[m & 63].credits += 1;
        router.credit.set(m);
        if !router.free.has(m) {
            let i = usize::from(router.lanes[m & 63].owner);
            if router.lanes[i].count > 0 {
                router.ready |= 1 << i;
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
        let router = &mut self.routers[n >> 6];
        let count = router.lanes[i].count;
        router.lanes[i].count = count + 1;
        if count > 0 {
            return self.queues.put(router, n, count, flit);
        }
        router.lanes[i].front = flit;
        if flit.head() {
            head_at_front::<PLAIN, _>(router, i, flit, &self.way, self.slots);
            return self.active.insert(n >> 6);
        }
        // This is a body flit: its packet holds a virtual channel and needs only a credit.
        if router.credit.has(usize::from(router.lanes[i].out) << 3 | usize::from(router.lanes[i].given)) {
            router.ready |= 1 << i;
            self.active.insert(n >> 6);
        }
    }

    /// Handles a flit that has left the network through output virtual channel `m`. An unbounded
    /// endpoint takes it at once.
    #[inline(always)]
    fn leaves<const PLAIN: bool, B: Back>(&mut self, flit: Flit, m: u32, back: &mut B) {
        if !PLAIN && let Some(bounded) = &mut self.bounded {
            return bounded.hold(flit, m);
        }
        back.put(&self.routers[(m >> 6) as usize], m);
        if flit.tail() {
            let delivered = self.slots.deliver(flit, self.now);
            if let Some(j) = self.journeys.as_deref_mut() {
                j.note_arrival(&delivered);
            }
            self.sink.delivered(&delivered);
        }
    }
}
