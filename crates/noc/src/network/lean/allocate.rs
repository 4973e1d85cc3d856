//! One router's cycle. Most bids have no rival: no other input bids for their output and no other
//! bid comes from their input port. They are served one by one; the others go to `rivals.rs`.

use super::super::whole::Network;
use super::context::Context;
use super::data::{ONE_HOP, TO_SOURCE};
use super::router::{Router, bid_start, lowest, next_of_eight, port_of};
use super::send::{ByDelay, Outbox, Rows, give, send_at_once, send_given};
use crate::arbiter::Arbiter;

impl<A: Arbiter> Network<A> {
    /// Steps every router that has something to do, in uniform networks.
    #[inline(never)]
    pub(crate) fn step_uniform_nodes<const PLAIN: bool>(&mut self) {
        let cx = Context::of(&self.spec, &self.wiring, &self.state.slots, &self.state.lean.queues, self.state.now);
        let mut routers = self.state.lean.routers.view();
        let wheels = &mut self.state.lean.wheels;
        let mut io = Rows::<PLAIN> {
            moves: wheels.moves.open(self.state.now + ONE_HOP),
            arrivals: wheels.arrivals.open(self.state.now + ONE_HOP),
            credits: wheels.credits.open(self.state.now + TO_SOURCE),
        };
        self.state.active.retain(|r| routers[r].step::<_, A>(r, &mut io, &cx));
        let (moves, arrivals, credits) = (io.moves.len(), io.arrivals.len(), io.credits.len());
        wheels.moves.close(self.state.now + ONE_HOP, moves);
        wheels.arrivals.close(self.state.now + ONE_HOP, arrivals);
        wheels.credits.close(self.state.now + TO_SOURCE, credits);
    }

    /// Steps the routers of networks that are not uniform, or in which routers are stepped in
    /// another order.
    #[inline(never)]
    pub(crate) fn step_other_nodes(&mut self) {
        let order = self.state.shuffled(self.wiring.routers.len());
        let cx = Context::of(&self.spec, &self.wiring, &self.state.slots, &self.state.lean.queues, self.state.now);
        let mut routers = self.state.lean.routers.view();
        let mut io = ByDelay {
            wheels: &mut self.state.lean.wheels,
            journeys: self.state.journeys.as_deref_mut(),
            slots: &self.state.slots,
            now: self.state.now,
        };
        let mut step = |r: usize| routers[r].step::<_, A>(r, &mut io, &cx);
        match order {
            None => self.state.active.retain(step),
            Some(order) => {
                for r in order {
                    if self.state.active.contains(r) && !step(r) {
                        self.state.active.remove(r);
                    }
                }
            }
        }
    }
}

impl<S> Router<S> {
    /// Simulates one cycle of router number `r`: allocates, and sends the flits that won. Returns
    /// whether the router still has something to do.
    #[inline(always)]
    fn step<O: Outbox, A: Arbiter<State = S>>(&mut self, r: usize, io: &mut O, cx: &Context<A>) -> bool {
        if O::UNIFORM || self.ticks(cx.now) {
            let all = self.wait | self.ready;
            if all & all.wrapping_sub(1) != 0 {
                several::<O, A>(self, r, io, cx);
            } else if self.wait != 0 {
                let i = lowest(self.wait);
                lone_head::<O, A>(self, r << 6 | i, usize::from(self.lanes[i].out), io, cx);
            } else if self.ready != 0 {
                let i = lowest(self.ready);
                lone_body::<O, A>(self, r << 6 | i, usize::from(self.lanes[i].out), io, cx);
            }
        }
        self.wait | self.ready != 0
    }

    /// Whether the router's clock ticks in cycle `now`: a slow router ticks `ticks` times in
    /// `cycles` cycles, evenly spread.
    #[inline(always)]
    fn ticks(&self, now: u64) -> bool {
        let (ticks, cycles) = self.clock;
        ticks == cycles || now * u64::from(ticks) % u64::from(cycles) < u64::from(ticks)
    }
}

/// Allocates among several inputs that bid.
#[inline(never)]
fn several<O: Outbox, A: Arbiter>(router: &mut Router<A::State>, r: usize, io: &mut O, cx: &Context<A>) {
    let wait = router.wait;
    let mut all = wait | router.ready;
    // `rest` holds the bids that have not been looked at, `rivals` those with a rival.
    let (mut rest, mut rivals) = (all, 0);
    while rest != 0 {
        let i = lowest(rest);
        let bit = 1 << i;
        let out = usize::from(router.lanes[i].out);
        let want = router.ports[out].want & all;
        if want == bit && all & port_of(i) == bit {
            rest &= rest - 1;
            // Sending this flit may bring the next packet to the front of the input; that packet
            // takes part from the next cycle on.
            all &= !bit;
            if wait & bit != 0 {
                lone_head::<O, A>(router, r << 6 | i, out, io, cx);
            } else {
                lone_body::<O, A>(router, r << 6 | i, out, io, cx);
            }
        } else {
            rest &= !want;
            rivals |= want;
        }
    }
    if rivals != 0 {
        super::rivals::allocate::<O, A>(router, r, (rivals & wait, rivals & !wait), io, cx);
    }
}

/// Serves a head flit without rivals, in input `n`.
#[inline(always)]
fn lone_head<O: Outbox, A: Arbiter>(router: &mut Router<A::State>, n: usize, out: usize, io: &mut O, cx: &Context<A>) {
    let i = n & 63;
    let free = router.free.of(out) & if O::PLAIN { u8::MAX } else { router.lanes[i].mask };
    if free == 0 {
        return;
    }
    let v = next_of_eight(free, bid_start(router.lanes[i].bid_from, out));
    router.lanes[i].bid_from = ((out << 3 | v) + 1) as u8;
    cx.arbiter.won(&mut router.by_head[out << 3 | v], i as u32);
    router.wait &= !(1 << i);
    let credit = router.credit.of(out);
    if (O::UNIFORM || cx.speculative) && free & credit != 0 {
        cx.arbiter.won(&mut router.ports[out].by_input[1], (i >> 3) as u32);
        cx.arbiter.won(&mut router.ports[i >> 3].by_output[1], out as u32);
        if credit >> v & 1 == 1 {
            return send_at_once::<O, A>(router, n, (out, v), io, cx);
        }
    }
    give(router, i, out, v);
}

/// Serves a flit without rivals whose packet already has an output virtual channel.
#[inline(always)]
fn lone_body<O: Outbox, A: Arbiter>(router: &mut Router<A::State>, n: usize, out: usize, io: &mut O, cx: &Context<A>) {
    let port = (n & 63) >> 3;
    cx.arbiter.won(&mut router.ports[out].by_input[0], port as u32);
    cx.arbiter.won(&mut router.ports[port].by_output[0], out as u32);
    send_given::<O, A>(router, n, out, io, cx);
}
