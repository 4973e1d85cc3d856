//! A flit leaves a source. The rules are those of `edge.rs`.

use super::super::Network;
use super::super::edge::choose_way;
use super::super::flit::Flit;
use super::super::state::{Queue, Slots};
use super::Arrival;
use super::node::{Source, next_of_eight};
use crate::arbiter::Arbiter;

impl<A: Arbiter> Network<A> {
    /// Every source with a packet sends one flit, if it can.
    #[inline(never)]
    pub(super) fn send_from_lean_sources<const COMMON: bool>(&mut self) {
        if !COMMON {
            return self.send_from_sources();
        }
        let mut sources = self.lean.sources.view();
        let mut queues = self.queues.view();
        let (slots, now) = (&mut self.slots, self.now);
        let mut out = self.lean.wheels.injected.open(now + 2);
        self.sending.retain(|node| {
            let (source, queue) = (&mut sources[node], &mut queues[node]);
            if let Some(arrival) = send_one(source, queue, slots, now, 0, u8::MAX, |flit| flit) {
                out.push(arrival);
            }
            queue.head != u32::MAX
        });
        let n = out.len();
        self.lean.wheels.injected.close(now + 2, n);
    }

    /// Sends a flit of the front packet of a class, if it can.
    pub(in super::super) fn send_one_lean(&mut self, node: usize, class: usize) -> bool {
        let q = node * self.classes as usize + class;
        let lanes = self.channels_of_class(class) as u8;
        let (nodes, choice, rng) = (self.nodes, self.routes.choice, &mut self.rng[node]);
        let (source, queue) = (&mut self.lean.sources[node], &mut self.queues[q]);
        let way = |flit| choose_way(flit, choice, rng, nodes);
        match send_one(source, queue, &mut self.slots, self.now, class as u8, lanes, way) {
            None => false,
            Some(arrival) => {
                let at = self.now + u64::from(self.lean.sources[node].delay);
                self.lean.wheels.arrivals.push(at, arrival);
                true
            }
        }
    }
}

/// A flit of the front packet of a class, if there is a virtual channel with a credit among `lanes`. `way` writes into a
/// head flit what the routing chooses at the source.
#[inline(always)]
fn send_one(
    source: &mut Source,
    queue: &mut Queue,
    slots: &mut Slots,
    now: u64,
    class: u8,
    lanes: u8,
    way: impl FnOnce(Flit) -> Flit,
) -> Option<Arrival> {
    let head = queue.sent == 0;
    let vc = if head {
        let usable = source.free & source.credit & lanes;
        if usable == 0 {
            return None;
        }
        // In turn, from behind the virtual channel that was used last.
        next_of_eight(usable, queue.vc + 1)
    } else {
        if source.credit >> queue.vc & 1 == 0 {
            return None;
        }
        queue.vc as usize
    };
    let slot = slots.get_mut(queue.head as usize);
    let tail = queue.sent + 1 == slot.flits;
    let mut flit = Flit::new(queue.head, slot.dst, class, head, tail);
    let next = slot.next;
    if head {
        slot.entered = now;
        flit = way(flit);
    }
    let hold = 1u8 << vc;
    source.free = if tail { source.free | hold } else { source.free & !hold };
    source.sent += 1;
    let places = source.credits[vc] - 1;
    source.credits[vc] = places;
    if places == 0 {
        source.credit &= !hold;
    }
    queue.vc = vc as u32;
    if tail {
        (queue.head, queue.sent) = (next, 0);
    } else {
        queue.sent += 1;
    }
    Some(Arrival { flit, to: source.to + vc as u32 })
}
