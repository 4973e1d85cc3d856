//! The edge of the network: sources that send one flit a cycle, endpoints that take every flit at once.

use super::Network;
use super::flit::Flit;
use super::vc_alloc::next_in_turn;
use crate::arbiter::Arbiter;
use crate::packet::Sink;
use crate::rng::Rng;
use crate::routing::Choice;

impl<A: Arbiter> Network<A> {
    /// Every source with a packet sends one flit, if it can. Classes take turns; packets of a class go one after
    /// another.
    pub(super) fn send_from_sources(&mut self) {
        let mut from = 0;
        while let Some(node) = self.sending.next(from) {
            if !self.send_from(node) {
                self.sending.remove(node);
            }
            from = node + 1;
        }
    }

    /// True while the source has a packet.
    #[inline]
    fn send_from(&mut self, node: usize) -> bool {
        let classes = self.classes as usize;
        let mut rest = Turns::new(self.pending[node], self.turns[node]);
        while let Some(class) = rest.next() {
            if self.send_one(node, class) {
                self.turns[node] = next_class(class, classes);
                if self.queues[node * classes + class].head == u32::MAX {
                    self.pending[node] &= !(1 << class);
                }
                break;
            }
        }
        self.pending[node] != 0
    }

    /// Sends a flit of the front packet of a class, if there is a virtual channel with a credit.
    #[inline]
    fn send_one(&mut self, node: usize, class: usize) -> bool {
        let shift = self.shift;
        let q = node * self.classes as usize + class;
        let queue = self.queues[q];
        let c = self.sources[node] as usize;
        let head = queue.sent == 0;
        let vc = if head {
            let usable = self.channels[c].free & self.channels[c].credit & self.channels_of_class(class);
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
            flit = choose_way(flit, self.routes.choice, &mut self.rng[node], self.nodes);
            self.slots.get_mut(slot as usize).entered = self.now;
        }
        let hold = 1u64 << vc;
        let channel = &mut self.channels[c];
        channel.free = if tail { channel.free | hold } else { channel.free & !hold };
        channel.flits += 1;
        let at = self.now + u64::from(channel.flit_delay);
        let target = (c << shift) + vc;
        self.use_credit(c, vc);
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

    /// Virtual channels of a class.
    #[inline]
    pub(super) fn channels_of_class(&self, class: usize) -> u64 {
        channels_of(class, self.vcs_a_class)
    }

    /// A flit stands at the end of an ejection channel.
    #[inline]
    pub(super) fn reaches_endpoint<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let shift = self.shift;
        if !self.bounded {
            return self.take_flit(vc, sink);
        }
        let node = (vc >> shift) - self.router_inputs as usize;
        self.vcs[vc].count += 1;
        self.endpoints[node].holding |= 1 << (vc & ((1 << shift) - 1));
        self.receiving.insert(node);
    }

    /// The endpoint takes the front flit of `vc` and returns its credit.
    #[inline]
    pub(super) fn take_flit<S: Sink>(&mut self, vc: usize, sink: &mut S) {
        let flit = self.free_place(vc);
        if flit.tail() {
            self.deliver(flit, sink);
        }
    }

    /// The front flit of `vc`, which stands before an endpoint, leaves it, and its credit goes back. Gives the flit.
    #[inline]
    pub(super) fn free_place(&mut self, vc: usize) -> Flit {
        let flit = self.front(vc);
        let state = &mut self.vcs[vc];
        state.head = (state.head + 1) & self.depth_mask;
        let delay = u64::from(self.channels[vc >> self.shift].credit_delay);
        self.credits.push(self.now + delay, vc as u32);
        flit
    }

    #[inline]
    pub(super) fn deliver<S: Sink>(&mut self, flit: Flit, sink: &mut S) {
        let delivered = self.slots.deliver(flit, self.now);
        if let Some(j) = self.journeys.as_deref_mut() {
            j.note_arrival(&delivered);
        }
        sink.delivered(&delivered);
    }
}

/// Virtual channels of a class, of which each has `a_class`.
#[inline(always)]
pub(super) fn channels_of(class: usize, a_class: u32) -> u64 {
    (u64::MAX >> (64 - a_class)) << (class as u32 * a_class)
}

/// Classes of a source that have a packet, in turn.
pub(super) struct Turns {
    /// Those from the one whose turn it is on.
    now: u8,
    /// Those before it.
    later: u8,
}

impl Turns {
    #[inline(always)]
    pub(super) fn new(pending: u8, turn: u8) -> Turns {
        let from = u8::MAX << turn;
        Turns { now: pending & from, later: pending & !from }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.now == 0 {
            self.now = std::mem::take(&mut self.later);
        }
        let class = self.now.trailing_zeros() as usize;
        self.now &= self.now.wrapping_sub(1);
        (class < 8).then_some(class)
    }
}

/// Whose turn it is after `class`.
#[inline(always)]
pub(super) fn next_class(class: usize, classes: usize) -> u8 {
    if class + 1 == classes { 0 } else { class as u8 + 1 }
}

/// What a routing chooses at the source: a table, or an intermediate node.
#[inline]
pub(super) fn choose_way(flit: Flit, choice: Choice, rng: &mut Rng, nodes: u32) -> Flit {
    match choice {
        Choice::None | Choice::Port { .. } => flit,
        Choice::Table if rng.next_u64() >> 63 == 1 => flit.phased(),
        Choice::Table => flit,
        Choice::Intermediate => {
            let between = rng.below(u64::from(nodes)) as u32;
            Flit::new(flit.slot() as u32, between, flit.network() as u8, true, flit.tail())
        }
    }
}
