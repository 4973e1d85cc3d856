//! Sources, each of which sends one flit per cycle.

use super::super::flit::Flit;
use super::super::turns::{Turns, channels_of, choose_way, next_class, next_in_turn};
use super::cycle::Cycle;
use crate::arbiter::Arbiter;

impl<A: Arbiter> Cycle<'_, A> {
    /// Lets every source with a packet send one flit if it can. Classes take turns; the packets of
    /// a class go one after another.
    pub(crate) fn send_from_sources(&mut self) {
        let mut from = 0;
        while let Some(node) = self.sources.sending.next(from) {
            if !self.send_from(node) {
                self.sources.sending.remove(node);
            }
            from = node + 1;
        }
    }

    /// Lets one source send a flit if it can. Returns whether the source still has a packet.
    #[inline]
    fn send_from(&mut self, node: usize) -> bool {
        let classes = self.spec.classes as usize;
        let mut rest = Turns::new(self.sources.pending[node], self.sources.turns[node]);
        while let Some(class) = rest.next() {
            if self.send_one(node, class) {
                self.sources.turns[node] = next_class(class, classes);
                if self.sources.queues[node * classes + class].head == u32::MAX {
                    self.sources.pending[node] &= !(1 << class);
                }
                break;
            }
        }
        self.sources.pending[node] != 0
    }

    /// Sends a flit of the front packet of a class, if there is a virtual channel with a credit.
    /// Returns whether it did.
    #[inline]
    fn send_one(&mut self, node: usize, class: usize) -> bool {
        let shift = self.spec.shift;
        let q = node * self.spec.classes as usize + class;
        let queue = self.sources.queues[q];
        let c = self.wiring.sources[node] as usize;
        let head = queue.sent == 0;
        let vc = if head {
            let channel = &self.routers.channels[c];
            let usable = channel.free & channel.credit & channels_of(class, self.spec.vcs_a_class);
            if usable == 0 {
                return false;
            }
            // Round robin, from behind the virtual channel that was used last. Bit 64 reads as bit
            // 0.
            next_in_turn(usable, queue.vc + 1)
        } else {
            if self.routers.channels[c].credit >> queue.vc & 1 == 0 {
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
            flit = choose_way(flit, self.wiring.routes.choice, &mut self.sources.rng[node], self.spec.nodes);
            self.slots.get_mut(slot as usize).entered = self.now;
        }
        let hold = 1u64 << vc;
        let channel = &mut self.routers.channels[c];
        channel.free = if tail { channel.free | hold } else { channel.free & !hold };
        channel.flits += 1;
        let at = self.now + u64::from(self.wiring.links[c].flit_delay);
        let target = (c << shift) + vc;
        self.use_credit(c, vc);
        let place = &mut self.routers.vcs[target].tail;
        self.routers.flits[(target << self.spec.depth_shift) + usize::from(*place)] = flit;
        *place = (*place + 1) & self.spec.depth_mask;
        self.routers.arrivals.push(at, target as u32);
        let queue = &mut self.sources.queues[q];
        queue.vc = vc as u32;
        if tail {
            (queue.head, queue.sent) = (next, 0);
        } else {
            queue.sent += 1;
        }
        true
    }
}
