//! Sends a flit from a router, and does what follows from that in the router.

use super::super::flit::Flit;
use super::super::journey::{Journey, JourneyStep};
use super::super::slots::Slots;
use super::super::wheel::Row;
use super::context::{Context, Way};
use super::data::{Arrival, Move, Queues, Wheels};
use super::router::{Router, SOURCE};
use crate::arbiter::Arbiter;
use crate::packet::PacketId;
use baton_units::Cycles;

/// Where a router puts what it sends.
pub(crate) trait Outbox {
    /// Whether the network is uniform; see [`super::data::Uniformity`].
    const UNIFORM: bool;
    /// Whether the network is plain.
    const PLAIN: bool;

    /// Takes the flit and credit of `m`, which left from input port `port` through output `out`.
    fn put<S>(&mut self, router: &Router<S>, out: usize, port: usize, m: Move);
}

/// Rows of the timing wheels that take what routers send in this cycle. One row of each wheel
/// suffices, because all delays are the same.
pub(crate) struct Rows<'a, const ONE_CLASS: bool> {
    pub(crate) moves: Row<'a, Move>,
    pub(crate) arrivals: Row<'a, Arrival>,
    pub(crate) credits: Row<'a, u32>,
}

impl<const ONE_CLASS: bool> Outbox for Rows<'_, ONE_CLASS> {
    const UNIFORM: bool = true;
    const PLAIN: bool = ONE_CLASS;

    #[inline(always)]
    fn put<S>(&mut self, _node: &Router<S>, _out: usize, _port: usize, m: Move) {
        if m.credit & SOURCE == 0 {
            self.moves.push(m);
        } else {
            // A credit that goes to a source arrives one cycle earlier than the flit, so it needs
            // an event of its own.
            self.arrivals.push(Arrival { flit: m.flit, to: m.to });
            self.credits.push(m.credit);
        }
    }
}

/// The wheels, for networks in which delays differ between channels, and the record of followed
/// packets.
pub(crate) struct ByDelay<'a> {
    pub(crate) wheels: &'a mut Wheels,
    pub(crate) journeys: Option<&'a mut Journey>,
    pub(crate) slots: &'a Slots,
    pub(crate) now: u64,
}

impl Outbox for ByDelay<'_> {
    const UNIFORM: bool = false;
    const PLAIN: bool = false;

    fn put<S>(&mut self, router: &Router<S>, out: usize, port: usize, m: Move) {
        let (flit_delay, credit_delay) = (u64::from(router.flit_delay[out]), u64::from(router.credit_delay[port]));
        if flit_delay == credit_delay {
            self.wheels.moves.push(self.now + flit_delay, m);
        } else {
            self.wheels.arrivals.push(self.now + flit_delay, Arrival { flit: m.flit, to: m.to });
            self.wheels.credits.push(self.now + credit_delay, m.credit);
        }
        if let Some(j) = self.journeys.as_deref_mut() {
            let packet = PacketId(self.slots.get(m.flit.slot()).id);
            j.note_hop(
                m.flit,
                JourneyStep { cycle: Cycles(self.now), packet, router: router.number, port: out as u32 },
            );
        }
    }
}

impl Queues {
    /// Puts a flit behind the `count` flits that input virtual channel `n` holds.
    #[inline(always)]
    pub(crate) fn put<S>(&mut self, router: &Router<S>, n: usize, count: u8, flit: Flit) {
        // The front flit is not in the ring buffer.
        let place = router.lanes[n & 63].head.wrapping_add(count - 1) & self.depth_mask;
        self.flits[(n << self.depth_shift) + usize::from(place)] = flit;
    }

    /// Moves the second flit of input virtual channel `n` to the front.
    #[inline(always)]
    fn advance<S>(&self, router: &mut Router<S>, n: usize) {
        let head = router.lanes[n & 63].head;
        router.lanes[n & 63].front = self.flits[(n << self.depth_shift) + usize::from(head)];
        router.lanes[n & 63].head = head.wrapping_add(1) & self.depth_mask;
    }
}

/// Routes a packet whose head flit has reached the front of input `i`; from now on it bids for an
/// output virtual channel.
#[inline(always)]
pub(crate) fn head_at_front<const PLAIN: bool, S>(
    router: &mut Router<S>,
    i: usize,
    mut flit: Flit,
    way: &Way,
    slots: &Slots,
) {
    debug_assert!(flit.head(), "the first flit of a packet is its head");
    if !PLAIN && way.turns && !flit.second_phase() {
        flit = turn_at_intermediate(router, i, flit, way, slots);
    }
    let table = router.route + if !PLAIN && flit.second_phase() { way.table_two } else { 0 };
    let entry = way.route[table + flit.dest()];
    let out = entry as u8;
    router.lanes[i].out = out;
    router.ports[usize::from(out)].want |= 1 << i;
    router.wait |= 1 << i;
    if !PLAIN {
        router.lanes[i].mask = way.masks[flit.network() * way.lanes + usize::from(entry >> 8)] as u8;
    }
}

/// Valiant routing: turns a packet toward its destination once it stands in its intermediate
/// router. Returns the flit, changed or not.
#[cold]
fn turn_at_intermediate<S>(router: &mut Router<S>, i: usize, flit: Flit, way: &Way, slots: &Slots) -> Flit {
    if way.graph.nodes[flit.dest()].to_router != router.number {
        return flit;
    }
    let turned = flit.turned(slots.get(flit.slot()).dst);
    router.lanes[i].front = turned;
    turned
}

/// Sends a head flit that won both allocations in the same cycle. If the flit is also the tail, its
/// packet never holds the virtual channel, because the channel would be free again before any input
/// bids for it.
#[inline(always)]
pub(crate) fn send_at_once<O: Outbox, A: Arbiter>(
    router: &mut Router<A::State>,
    n: usize,
    (out, v): (usize, usize),
    io: &mut O,
    cx: &Context<A>,
) {
    let i = n & 63;
    let flit = send(router, n, (out, v), io, cx);
    if flit.tail() {
        next_packet::<O, A>(router, i, out, cx);
    } else {
        hold(router, i, out, v);
        if router.lanes[i].count > 0 && router.credit.has(out << 3 | v) {
            router.ready |= 1 << i;
        }
    }
}

/// Sends a flit whose packet was given its virtual channel in an earlier cycle.
#[inline(always)]
pub(crate) fn send_given<O: Outbox, A: Arbiter>(
    router: &mut Router<A::State>,
    n: usize,
    out: usize,
    io: &mut O,
    cx: &Context<A>,
) {
    let i = n & 63;
    let v = usize::from(router.lanes[i].given);
    let flit = send(router, n, (out, v), io, cx);
    if flit.tail() {
        router.ready &= !(1 << i);
        router.free.set(out << 3 | v);
        next_packet::<O, A>(router, i, out, cx);
    } else if router.lanes[i].count == 0 || !router.credit.has(out << 3 | v) {
        router.ready &= !(1 << i);
    }
}

/// Brings the next packet of input `i` to the front, after the previous one has left for `out`.
#[inline(always)]
fn next_packet<O: Outbox, A: Arbiter>(router: &mut Router<A::State>, i: usize, out: usize, cx: &Context<A>) {
    router.ports[out].want &= !(1 << i);
    if router.lanes[i].count > 0 {
        let flit = router.lanes[i].front;
        if O::PLAIN {
            head_at_front::<true, _>(router, i, flit, &cx.way, cx.slots);
        } else {
            head_at_front::<false, _>(router, i, flit, &cx.way, cx.slots);
        }
    }
}

/// Gives virtual channel `v` of `out` to input `i`, whose head flit has not been sent.
#[inline(always)]
pub(crate) fn give<S>(router: &mut Router<S>, i: usize, out: usize, v: usize) {
    hold(router, i, out, v);
    if router.credit.has(out << 3 | v) {
        // The head flit is still at the front, so the router stays active.
        router.ready |= 1 << i;
    }
}

/// Marks that input `i` holds virtual channel `v` of `out` from now on.
#[inline(always)]
fn hold<S>(router: &mut Router<S>, i: usize, out: usize, v: usize) {
    router.lanes[i].given = v as u8;
    router.free.clear(out << 3 | v);
    router.lanes[out << 3 | v].owner = i as u8;
}

/// Moves the front flit of input virtual channel `n` to virtual channel `v` of `out`. The flit
/// arrives there, and its credit upstream, after the delays of the two channels. Returns the flit.
#[inline(always)]
fn send<O: Outbox, A: Arbiter>(
    router: &mut Router<A::State>,
    n: usize,
    (out, v): (usize, usize),
    io: &mut O,
    cx: &Context<A>,
) -> Flit {
    let (i, port, m) = (n & 63, (n & 63) >> 3, out << 3 | v);
    let flit = router.lanes[i].front.one_hop_on();
    let left = router.lanes[i].count - 1;
    router.lanes[i].count = left;
    if left > 0 {
        cx.queues.advance(router, n);
    }
    let credits = router.lanes[m].credits - 1;
    router.lanes[m].credits = credits;
    if credits == 0 {
        router.credit.clear(m);
    }
    router.ports[out].sent += 1;
    cx.arbiter.won(&mut router.by_vc[port], (i & 7) as u32);
    let to = router.ports[out].down.wrapping_add(m as u32);
    let credit = router.ports[port].up.wrapping_add(i as u32);
    io.put(router, out, port, Move { flit, to, credit });
    flit
}
