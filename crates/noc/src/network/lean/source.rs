//! Sends flits from sources, by the rules of `general/source.rs`.

use super::super::flit::Flit;
use super::super::slots::Slots;
use super::super::sources::Queue;
use super::super::turns::{Turns, channels_of, choose_way, next_class};
use super::super::whole::Network;
use super::data::{Arrival, FROM_SOURCE};
use super::router::{Source, next_of_eight};
use crate::arbiter::Arbiter;
use crate::routing::Choice;

impl<A: Arbiter> Network<A> {
    /// Lets every source with a packet send one flit if it can, in plain networks.
    #[inline(never)]
    pub(crate) fn send_from_plain_sources(&mut self) {
        let mut sources = self.state.lean.sources.view();
        let (mut queues, mut pending) = (self.state.sources.queues.view(), self.state.sources.pending.view());
        let (slots, now) = (&mut self.state.slots, self.state.now);
        let mut out = self.state.lean.wheels.injected.open(now + FROM_SOURCE);
        self.state.sources.sending.retain(|node| {
            let (source, queue) = (&mut sources[node], &mut queues[node]);
            if let Some(arrival) = send_one(source, queue, slots, now, 0, u8::MAX, |flit| flit) {
                out.push(arrival);
            }
            let more = queue.head != u32::MAX;
            if !more {
                pending[node] = 0;
            }
            more
        });
        let n = out.len();
        self.state.lean.wheels.injected.close(now + FROM_SOURCE, n);
    }

    /// Lets every source send one flit if it can, in networks that are not plain; its classes take
    /// turns.
    #[inline(never)]
    pub(crate) fn send_from_lean_sources<const UNIFORM: bool>(&mut self) {
        let (classes, lanes, a_class) =
            (self.spec.classes as usize, channels_of(0, self.spec.vcs_a_class) as u8, self.spec.vcs_a_class);
        let (nodes, choice) = (self.spec.nodes, self.wiring.routes.choice);
        let mut sources = self.state.lean.sources.view();
        let (mut queues, mut pending, mut turns) =
            (self.state.sources.queues.view(), self.state.sources.pending.view(), self.state.sources.turns.view());
        let (slots, now, rng, wheels) =
            (&mut self.state.slots, self.state.now, &mut self.state.sources.rng, &mut self.state.lean.wheels);
        self.state.sources.sending.retain(|node| {
            let source = &mut sources[node];
            let mut rest = Turns::new(pending[node], turns[node]);
            while let Some(class) = rest.next() {
                let queue = &mut queues[node * classes + class];
                let lanes = lanes << (class as u32 * a_class);
                let way =
                    |flit| if choice == Choice::None { flit } else { choose_way(flit, choice, &mut rng[node], nodes) };
                let Some(arrival) = send_one(source, queue, slots, now, class as u8, lanes, way) else { continue };
                if UNIFORM {
                    wheels.injected.push(now + FROM_SOURCE, arrival);
                } else {
                    wheels.arrivals.push(now + u64::from(source.delay), arrival);
                }
                turns[node] = next_class(class, classes);
                if queue.head == u32::MAX {
                    pending[node] &= !(1 << class);
                }
                break;
            }
            pending[node] != 0
        });
    }
}

/// Sends one flit of the front packet of a class, if one of the virtual channels `lanes` has a
/// credit; for a head flit it must also be free. `way` writes into a head flit what the routing
/// chooses at the source.
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
        // Round robin, from behind the virtual channel that was used last.
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
    let credits = source.credits[vc] - 1;
    source.credits[vc] = credits;
    if credits == 0 {
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
