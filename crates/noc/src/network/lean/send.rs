//! A flit leaves a router, and what follows from it there.

use super::super::flit::Flit;
use super::super::inspect::{Journey, JourneyStep};
use super::super::state::Slots;
use super::super::wheel::Row;
use super::node::{Node, SOURCE};
use super::{Arrival, Context, Move, Queues, Way, Wheels};
use crate::arbiter::Arbiter;
use crate::packet::PacketId;
use baton_units::Cycles;

/// Where a router puts what it sends.
pub(super) trait Outbox {
    /// The network is uniform; see [`super::Kind`].
    const UNIFORM: bool;
    /// It is plain.
    const PLAIN: bool;

    /// Takes what left by output `out` from input port `port`.
    fn put<S>(&mut self, node: &Node<S>, out: usize, port: usize, m: Move);
}

/// The rows for what is sent in this cycle, as all delays are the same.
pub(super) struct Rows<'a, const ONE_CLASS: bool> {
    pub(super) moves: Row<'a, Move>,
    pub(super) arrivals: Row<'a, Arrival>,
    pub(super) credits: Row<'a, u32>,
}

impl<const ONE_CLASS: bool> Outbox for Rows<'_, ONE_CLASS> {
    const UNIFORM: bool = true;
    const PLAIN: bool = ONE_CLASS;

    #[inline(always)]
    fn put<S>(&mut self, _node: &Node<S>, _out: usize, _port: usize, m: Move) {
        if m.credit & SOURCE == 0 {
            self.moves.push(m);
        } else {
            // A source takes its credit a cycle earlier.
            self.arrivals.push(Arrival { flit: m.flit, to: m.to });
            self.credits.push(m.credit);
        }
    }
}

/// The wheels, as delays differ from channel to channel; and the packets that are followed.
pub(super) struct ByDelay<'a> {
    pub(super) wheels: &'a mut Wheels,
    pub(super) journeys: Option<&'a mut Journey>,
    pub(super) slots: &'a Slots,
    pub(super) now: u64,
}

impl Outbox for ByDelay<'_> {
    const UNIFORM: bool = false;
    const PLAIN: bool = false;

    fn put<S>(&mut self, node: &Node<S>, out: usize, port: usize, m: Move) {
        let (flit_delay, credit_delay) = (u64::from(node.flit_delay[out]), u64::from(node.credit_delay[port]));
        if flit_delay == credit_delay {
            self.wheels.moves.push(self.now + flit_delay, m);
        } else {
            self.wheels.arrivals.push(self.now + flit_delay, Arrival { flit: m.flit, to: m.to });
            self.wheels.credits.push(self.now + credit_delay, m.credit);
        }
        if let Some(j) = self.journeys.as_deref_mut() {
            let packet = PacketId(self.slots.get(m.flit.slot()).id);
            j.note_hop(m.flit, JourneyStep { cycle: Cycles(self.now), packet, router: node.number, port: out as u32 });
        }
    }
}

impl Queues {
    /// Puts a flit behind the `count` others of input virtual channel `n`.
    #[inline(always)]
    pub(super) fn put<S>(&mut self, node: &Node<S>, n: usize, count: u8, flit: Flit) {
        // The front flit is not in the ring.
        let place = node.lanes[n & 63].head.wrapping_add(count - 1) & self.depth_mask;
        self.flits[(n << self.depth_shift) + usize::from(place)] = flit;
    }

    /// Takes the second flit of input virtual channel `n` to the front.
    #[inline(always)]
    fn advance<S>(&self, node: &mut Node<S>, n: usize) {
        let head = node.lanes[n & 63].head;
        node.lanes[n & 63].front = self.flits[(n << self.depth_shift) + usize::from(head)];
        node.lanes[n & 63].head = head.wrapping_add(1) & self.depth_mask;
    }
}

/// A packet's head flit stands at the front of input `i`: from now on it bids for an output virtual channel.
#[inline(always)]
pub(super) fn head_at_front<const PLAIN: bool, S>(
    node: &mut Node<S>,
    i: usize,
    mut flit: Flit,
    way: &Way,
    slots: &Slots,
) {
    debug_assert!(flit.head(), "the first flit of a packet is its head");
    if !PLAIN && way.turns && !flit.second_phase() {
        flit = turn_at_intermediate(node, i, flit, way, slots);
    }
    let table = node.route + if !PLAIN && flit.second_phase() { way.table_two } else { 0 };
    let entry = way.route[table + flit.dest()];
    let out = entry as u8;
    node.lanes[i].out = out;
    node.ports[usize::from(out)].want |= 1 << i;
    node.wait |= 1 << i;
    if !PLAIN {
        node.lanes[i].mask = way.masks[flit.network() * way.lanes + usize::from(entry >> 8)] as u8;
    }
}

/// Valiant: at its intermediate node's router a packet turns toward its destination.
#[cold]
fn turn_at_intermediate<S>(node: &mut Node<S>, i: usize, flit: Flit, way: &Way, slots: &Slots) -> Flit {
    if way.graph.nodes[flit.dest()].to_router != node.number {
        return flit;
    }
    let turned = flit.turned(slots.get(flit.slot()).dst);
    node.lanes[i].front = turned;
    turned
}

/// A head flit that won both allocations in one cycle. One that is the tail too never holds its channel: it would be
/// free again before anybody looks.
#[inline(always)]
pub(super) fn send_at_once<O: Outbox, A: Arbiter>(
    node: &mut Node<A::State>,
    n: usize,
    (out, v): (usize, usize),
    io: &mut O,
    cx: &Context<A>,
) {
    let i = n & 63;
    let flit = send(node, n, (out, v), io, cx);
    if flit.tail() {
        next_packet::<O, A>(node, i, out, cx);
    } else {
        hold(node, i, out, v);
        if node.lanes[i].count > 0 && node.credit.has(out << 3 | v) {
            node.ready |= 1 << i;
        }
    }
}

/// A flit of a packet that was given its channel in an earlier cycle.
#[inline(always)]
pub(super) fn send_given<O: Outbox, A: Arbiter>(
    node: &mut Node<A::State>,
    n: usize,
    out: usize,
    io: &mut O,
    cx: &Context<A>,
) {
    let i = n & 63;
    let v = usize::from(node.lanes[i].given);
    let flit = send(node, n, (out, v), io, cx);
    if flit.tail() {
        node.ready &= !(1 << i);
        node.free.set(out << 3 | v);
        next_packet::<O, A>(node, i, out, cx);
    } else if node.lanes[i].count == 0 || !node.credit.has(out << 3 | v) {
        node.ready &= !(1 << i);
    }
}

/// The packet at the front of input `i` has left for `out`.
#[inline(always)]
fn next_packet<O: Outbox, A: Arbiter>(node: &mut Node<A::State>, i: usize, out: usize, cx: &Context<A>) {
    node.ports[out].want &= !(1 << i);
    if node.lanes[i].count > 0 {
        let flit = node.lanes[i].front;
        if O::PLAIN {
            head_at_front::<true, _>(node, i, flit, &cx.way, cx.slots);
        } else {
            head_at_front::<false, _>(node, i, flit, &cx.way, cx.slots);
        }
    }
}

/// Input `i` was given virtual channel `v` of `out`, but not the switch.
#[inline(always)]
pub(super) fn give<S>(node: &mut Node<S>, i: usize, out: usize, v: usize) {
    hold(node, i, out, v);
    if node.credit.has(out << 3 | v) {
        // Its head flit is still at the front, and the router stays active.
        node.ready |= 1 << i;
    }
}

/// Input `i` holds virtual channel `v` of `out` from now on.
#[inline(always)]
fn hold<S>(node: &mut Node<S>, i: usize, out: usize, v: usize) {
    node.lanes[i].given = v as u8;
    node.free.clear(out << 3 | v);
    node.lanes[out << 3 | v].owner = i as u8;
}

/// Moves the front flit of input virtual channel `n` to virtual channel `v` of `out`: it will be there, and its credit
/// back upstream, when the delays of the two channels have passed. Gives it.
#[inline(always)]
fn send<O: Outbox, A: Arbiter>(
    node: &mut Node<A::State>,
    n: usize,
    (out, v): (usize, usize),
    io: &mut O,
    cx: &Context<A>,
) -> Flit {
    let (i, port, m) = (n & 63, (n & 63) >> 3, out << 3 | v);
    let flit = node.lanes[i].front.one_hop_on();
    let left = node.lanes[i].count - 1;
    node.lanes[i].count = left;
    if left > 0 {
        cx.queues.advance(node, n);
    }
    let places = node.lanes[m].credits - 1;
    node.lanes[m].credits = places;
    if places == 0 {
        node.credit.clear(m);
    }
    node.ports[out].sent += 1;
    cx.arbiter.won(&mut node.by_vc[port], (i & 7) as u32);
    let to = node.ports[out].down.wrapping_add(m as u32);
    let credit = node.ports[port].up.wrapping_add(i as u32);
    io.put(node, out, port, Move { flit, to, credit });
    flit
}
