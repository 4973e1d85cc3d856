//! One router's cycle. Most bids have no rival: nothing else bids at their output or at their input port. They are
//! served one by one; the others go to `rivals.rs`.

use super::super::Network;
use super::super::table::Reading;
use super::node::{Node, lowest, next_of_eight, port_of};
use super::send::{ByDelay, Outbox, Rows, give, send_at_once, send_given};
use super::{Context, ONE_HOP, TO_SOURCE, Way};
use crate::arbiter::Arbiter;
use crate::routing::Choice;

/// The context of a router's cycle, from the fields of a network: a function would borrow all of it.
macro_rules! context {
    ($net:ident) => {
        Context {
            way: Way {
                route: Reading($net.route.as_slice()),
                masks: Reading($net.masks.as_slice()),
                lanes: $net.lanes,
                table_two: $net.table_two,
                turns: $net.routes.choice == Choice::Intermediate,
                graph: &$net.graph,
            },
            arbiter: &$net.arbiter,
            slots: &$net.slots,
            queues: &$net.lean.queues,
            now: $net.now,
            seed: $net.config.seed,
            speculative: $net.speculative,
        }
    };
}

impl<A: Arbiter> Network<A> {
    /// Steps every router that has something to do, in uniform networks.
    #[inline(never)]
    pub(super) fn step_uniform_nodes<const PLAIN: bool>(&mut self) {
        let cx = context!(self);
        let mut nodes = self.lean.nodes.view();
        let wheels = &mut self.lean.wheels;
        let mut io = Rows::<PLAIN> {
            moves: wheels.moves.open(self.now + ONE_HOP),
            arrivals: wheels.arrivals.open(self.now + ONE_HOP),
            credits: wheels.credits.open(self.now + TO_SOURCE),
        };
        self.active.retain(|r| {
            let node = &mut nodes[r];
            step_node::<_, A>(node, r, &mut io, &cx);
            node.wait | node.ready != 0
        });
        let (moves, arrivals, credits) = (io.moves.len(), io.arrivals.len(), io.credits.len());
        wheels.moves.close(self.now + ONE_HOP, moves);
        wheels.arrivals.close(self.now + ONE_HOP, arrivals);
        wheels.credits.close(self.now + TO_SOURCE, credits);
    }

    /// The same in others, and where routers are stepped in another order.
    #[inline(never)]
    pub(super) fn step_other_nodes(&mut self) {
        let order = self.shuffled();
        let cx = context!(self);
        let mut nodes = self.lean.nodes.view();
        let mut io = ByDelay {
            wheels: &mut self.lean.wheels,
            journeys: self.journeys.as_deref_mut(),
            slots: &self.slots,
            now: self.now,
        };
        let mut step = |r: usize| {
            let node = &mut nodes[r];
            step_node::<_, A>(node, r, &mut io, &cx);
            node.wait | node.ready != 0
        };
        match order {
            None => self.active.retain(step),
            Some(order) => {
                for r in order {
                    if self.active.contains(r) && !step(r) {
                        self.active.remove(r);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn step_node<O: Outbox, A: Arbiter>(node: &mut Node<A::State>, r: usize, io: &mut O, cx: &Context<A>) {
    if !O::UNIFORM {
        // A slow router ticks `ticks` times in `cycles` cycles, evenly spread.
        let (ticks, cycles) = node.clock;
        if ticks != cycles && cx.now * u64::from(ticks) % u64::from(cycles) >= u64::from(ticks) {
            return;
        }
    }
    let all = node.wait | node.ready;
    if all & all.wrapping_sub(1) != 0 {
        return several::<O, A>(node, r, io, cx);
    }
    if node.wait != 0 {
        let i = lowest(node.wait);
        lone_head::<O, A>(node, r << 6 | i, usize::from(node.lanes[i].out), io, cx);
    } else if node.ready != 0 {
        let i = lowest(node.ready);
        lone_body::<O, A>(node, r << 6 | i, usize::from(node.lanes[i].out), io, cx);
    }
}

/// The same where several inputs bid.
#[inline(never)]
fn several<O: Outbox, A: Arbiter>(node: &mut Node<A::State>, r: usize, io: &mut O, cx: &Context<A>) {
    let wait = node.wait;
    let mut all = wait | node.ready;
    // Bids that have not been looked at, and those with a rival.
    let (mut rest, mut rivals) = (all, 0);
    while rest != 0 {
        let i = lowest(rest);
        let bit = 1 << i;
        let out = usize::from(node.lanes[i].out);
        let want = node.ports[out].want & all;
        if want == bit && all & port_of(i) == bit {
            rest &= rest - 1;
            // What is sent now may bring the next packet to the front; it takes part from the next cycle on.
            all &= !bit;
            if wait & bit != 0 {
                lone_head::<O, A>(node, r << 6 | i, out, io, cx);
            } else {
                lone_body::<O, A>(node, r << 6 | i, out, io, cx);
            }
        } else {
            rest &= !want;
            rivals |= want;
        }
    }
    if rivals != 0 {
        super::rivals::allocate::<O, A>(node, r, (rivals & wait, rivals & !wait), io, cx);
    }
}

/// Where the turn over the virtual channels of `out` begins. The pointer counts over those of all outputs; for another
/// output it reads as that one's first.
#[inline(always)]
pub(super) fn bid_start(bid_from: u8, out: usize) -> u32 {
    let v = u32::from(bid_from).wrapping_sub((out << 3) as u32);
    if v < 8 { v } else { 0 }
}

/// A head flit without rivals, in input `n`.
#[inline(always)]
fn lone_head<O: Outbox, A: Arbiter>(node: &mut Node<A::State>, n: usize, out: usize, io: &mut O, cx: &Context<A>) {
    let i = n & 63;
    let free = node.free.of(out) & if O::PLAIN { u8::MAX } else { node.lanes[i].mask };
    if free == 0 {
        return;
    }
    let v = next_of_eight(free, bid_start(node.lanes[i].bid_from, out));
    node.lanes[i].bid_from = ((out << 3 | v) + 1) as u8;
    cx.arbiter.won(&mut node.by_head[out << 3 | v], i as u32);
    node.wait &= !(1 << i);
    let credit = node.credit.of(out);
    if (O::UNIFORM || cx.speculative) && free & credit != 0 {
        cx.arbiter.won(&mut node.ports[out].by_input[1], (i >> 3) as u32);
        cx.arbiter.won(&mut node.ports[i >> 3].by_output[1], out as u32);
        if credit >> v & 1 == 1 {
            return send_at_once::<O, A>(node, n, (out, v), io, cx);
        }
    }
    give(node, i, out, v);
}

/// The same for a flit whose packet has its channel.
#[inline(always)]
fn lone_body<O: Outbox, A: Arbiter>(node: &mut Node<A::State>, n: usize, out: usize, io: &mut O, cx: &Context<A>) {
    let port = (n & 63) >> 3;
    cx.arbiter.won(&mut node.ports[out].by_input[0], port as u32);
    cx.arbiter.won(&mut node.ports[port].by_output[0], out as u32);
    send_given::<O, A>(node, n, out, io, cx);
}
