//! The edge of the network: sources that send one flit a cycle, endpoints that take flits.

use super::Network;
use super::flit::Flit;
use super::state::NONE;
use super::vc_alloc::next_in_turn;
use crate::arbiter::Arbiter;
use crate::packet::{Delivered, PacketId, Sink};
use crate::routing::Choice;
use baton_units::{Cycles, NodeId};

impl<A: Arbiter> Network<A> {
    /// Every source with a packet sends one flit, if it can. Classes take turns; packets of a class go one after
    /// another.
    pub(super) fn send_from_sources<const FAST: bool>(&mut self) {
        for word in 0..self.sending.len() {
            let mut set = self.sending[word];
            while set != 0 {
                let node = word << 6 | set.trailing_zeros() as usize;
                set &= set - 1;
                self.send_from::<FAST>(node);
            }
        }
    }

    #[inline]
    fn send_from<const FAST: bool>(&mut self, node: usize) {
        let classes = if FAST { 1 } else { self.classes as usize };
        let turn = usize::from(self.turns[node]);
        let mut class = turn;
        for _ in 0..classes {
            if self.queues[node * classes + class].head != u32::MAX && self.send_one::<FAST>(node, class) {
                self.turns[node] = if class + 1 == classes { 0 } else { class as u8 + 1 };
                break;
            }
            class = if class + 1 == classes { 0 } else { class + 1 };
        }
        if (0..classes).all(|c| self.queues[node * classes + c].head == u32::MAX) {
            self.sending[node >> 6] &= !(1 << (node & 63));
        }
    }

    /// Sends a flit of the front packet of a class, if there is a virtual channel with a credit.
    #[inline]
    fn send_one<const FAST: bool>(&mut self, node: usize, class: usize) -> bool {
        let shift = self.shift::<FAST>();
        let q = if FAST { node } else { node * self.classes as usize + class };
        let queue = self.queues[q];
        let c = self.sources[node] as usize;
        let head = queue.sent == 0;
        let vc = if head {
            let network = self.vcs_a_class;
            let lane = (u64::MAX >> (64 - network)) << (class as u32 * network);
            let usable = self.channels[c].free & self.channels[c].credit & lane;
            if usable == 0 {
                return false;
            }
            // In turn, from behind the virtual channel that was used last. Bit 64 would be 0 again.
            next_in_turn(usable, queue.vc + 1)
        } else {
            if self.channels[c].credit >> queue.vc & 1 == 0 {
                return false;
            }
            queue.vc as usize
        };
        let slot = queue.head;
        let packet = self.slots.get(slot as usize);
        let tail = queue.sent + 1 == packet.flits;
        let (dst, next) = (packet.dst, packet.next);
        let mut flit = Flit::new(slot, dst, class as u8, head, tail);
        if head {
            flit = self.choose_way::<FAST>(node, flit);
            self.slots.get_mut(slot as usize).entered = self.now;
        }
        let hold = 1u64 << vc;
        let channel = &mut self.channels[c];
        channel.free = if tail { channel.free | hold } else { channel.free & !hold };
        channel.flits += 1;
        let at = self.now + u64::from(channel.flit_delay);
        let target = (c << shift) + vc;
        self.use_credit::<FAST>(c, vc);
        let place = &mut self.vcs[target].tail;
        self.flits[(target << self.depth_shift) + usize::from(*place)] = flit;
        *place = (*place + 1) & self.depth_mask;
        self.arrivals.push(at, target as u32);
        let queue = &mut self.queues[q];
        queue.vc = vc as u32;
        if tail {
            (queue.head, queue.sent) = (next, 0);
        } else {
            queue.sent += 1;
        }
        true
    }

    /// What a routing chooses at the source: a table, or an intermediate node.
    #[inline]
    fn choose_way<const FAST: bool>(&mut self, node: usize, flit: Flit) -> Flit {
        match self.routes.choice {
            Choice::None | Choice::Port { .. } => flit,
            Choice::Table if self.rng[node].next_u64() >> 63 == 1 => flit.phased(),
            Choice::Table => flit,
            Choice::Intermediate => {
                let between = self.rng[node].below(u64::from(self.nodes)) as u32;
                Flit::new(flit.slot() as u32, between, flit.network() as u8, true, flit.tail())
            }
        }
    }

    /// A flit stands at the end of an ejection channel.
    #[inline]
    pub(super) fn reaches_endpoint<const FAST: bool, S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.shift::<FAST>();
        if !self.bounded::<FAST>() {
            return self.take_flit::<FAST, _>(vc, sink);
        }
        let node = (vc >> shift) - self.router_inputs as usize;
        self.vcs[vc].count += 1;
        self.endpoints[node].holding |= 1 << (vc & ((1 << shift) - 1));
        self.receiving[node >> 6] |= 1 << (node & 63);
    }

    /// The endpoint takes the front flit of `vc` and returns its credit.
    #[inline]
    fn take_flit<const FAST: bool, S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.shift::<FAST>();
        let flit = self.front::<FAST>(vc);
        let state = &mut self.vcs[vc];
        state.head = (state.head + 1) & self.depth_mask;
        let delay = u64::from(self.channels[vc >> shift].credit_delay);
        self.credits.push(self.now + delay, vc as u32);
        if flit.tail() {
            self.deliver::<FAST, _>(flit, sink);
        }
    }

    #[inline]
    fn deliver<const FAST: bool, S: Sink>(&mut self, flit: Flit, sink: &mut S) {
        let slot = self.slots.get(flit.slot());
        let delivered = Delivered {
            id: PacketId(slot.id),
            tag: slot.tag,
            src: NodeId(slot.src),
            dst: NodeId(slot.dst),
            header: slot.header,
            flits: slot.flits,
            hops: flit.hops(),
            created: Cycles(slot.created),
            entered: Cycles(slot.entered),
            arrived: Cycles(self.now),
        };
        debug_assert_eq!(self.graph.nodes[slot.dst as usize].to_router, self.graph.nodes[flit.dest()].to_router);
        self.slots.release(flit.slot());
        if !FAST && self.journeys.is_some() {
            self.note_arrival(&delivered);
        }
        sink.delivered(&delivered);
    }

    /// Bounded endpoints: each takes one flit, if the class of its packet has a place. A packet keeps its place until
    /// [`Network::release`]; responses need none.
    pub(super) fn take_at_endpoints<S: Sink>(&mut self, sink: &mut S) {
        for word in 0..self.receiving.len() {
            let mut set = self.receiving[word];
            while set != 0 {
                let node = word << 6 | set.trailing_zeros() as usize;
                set &= set - 1;
                self.take_at(node, sink);
            }
        }
    }

    fn take_at<S: Sink>(&mut self, node: usize, sink: &mut S) {
        let first = (self.router_inputs as usize + node) << self.shift;
        let mut takable = 0u64;
        let mut rest = self.endpoints[node].holding;
        while rest != 0 {
            let v = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let class = self.front::<false>(first + v).network();
            let open = self.vcs[first + v].given != NONE;
            let response = class as u32 >= self.response_class;
            takable |= u64::from(open || response || self.endpoints[node].places[class] > 0) << v;
        }
        if takable == 0 {
            // Woken by the next flit or the next release.
            self.receiving[node >> 6] &= !(1 << (node & 63));
            return;
        }
        let v = next_in_turn(takable, self.endpoints[node].last + 1);
        let (vc, flit) = (first + v, self.front::<false>(first + v));
        self.endpoints[node].last = v as u32;
        let class = flit.network();
        if flit.head() && (class as u32) < self.response_class {
            self.endpoints[node].places[class] -= 1;
        }
        let state = &mut self.vcs[vc];
        // `given` marks a packet that was begun.
        state.given = if flit.tail() { NONE } else { 0 };
        state.count -= 1;
        if state.count == 0 {
            self.endpoints[node].holding &= !(1 << v);
        }
        self.take_flit::<false, _>(vc, sink);
    }
}
