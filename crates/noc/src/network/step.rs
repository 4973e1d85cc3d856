//! What a network's user calls: packets in, cycles on.

use super::flit;
use super::general::cycle::Cycle;
use super::slots::Slot;
use super::turns::channels_of;
use super::whole::Network;
use crate::arbiter::Arbiter;
use crate::config::Config;
use crate::error::{NocError, bad};
use crate::packet::{Packet, PacketId, Sink};
use crate::rng::Rng;
use crate::topology::Graph;
use baton_units::{Cycles, NodeId};

/// Cycles between two looks whether anything moves: far more than the longest link and the slowest clock's cycle together,
/// so that what set out before the first look has had its turn before the second.
const LOOK: u64 = 1 << 14;

impl<A: Arbiter> Network<A> {
    /// Puts a packet into its source's queue in the current cycle. The queue has no bound.
    ///
    /// Errors: a node that does not exist, a length of 0, a class that the configuration does not have.
    pub fn inject(&mut self, packet: Packet) -> Result<PacketId, NocError> {
        for (key, node) in [("src", packet.src), ("dst", packet.dst)] {
            if node.0 >= self.spec.nodes {
                return Err(bad(key, node, format!("a node from 0 to {}", self.spec.nodes - 1)));
            }
        }
        if u32::from(packet.header.class) >= self.spec.classes {
            return Err(bad("class", packet.header.class, format!("a class from 0 to {}", self.spec.classes - 1)));
        }
        if packet.flits == 0 {
            return Err(bad("flits", 0, "at least 1"));
        }
        if self.state.slots.used() >= flit::MAX_PACKETS {
            return Err(bad("packets", self.state.slots.used(), "at most 2^28 packets in flight and in source queues"));
        }
        Ok(self.enqueue(packet))
    }

    /// [`Network::inject`] for a packet that is known to be right.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet) -> PacketId {
        let id = self.state.next_id;
        self.state.next_id += 1;
        let slot = self.state.slots.take(Slot {
            id,
            tag: packet.tag,
            created: self.state.now,
            entered: 0,
            src: packet.src.0,
            dst: packet.dst.0,
            flits: packet.flits,
            next: u32::MAX,
            header: packet.header,
        });
        let node = packet.src.0 as usize;
        let queue =
            &mut self.state.sources.queues[node * self.spec.classes as usize + usize::from(packet.header.class)];
        if queue.head == u32::MAX {
            queue.head = slot;
        } else {
            self.state.slots.get_mut(queue.tail as usize).next = slot;
        }
        queue.tail = slot;
        self.state.sources.pending[node] |= 1 << packet.header.class;
        self.stirs();
        self.state.sources.sending.insert(node);
        PacketId(id)
    }

    /// Simulates the current cycle and moves on to the next one. Packets whose tail flit leaves the network in this
    /// cycle go to `sink`, with this cycle as their time of arrival.
    pub fn step<S: Sink>(&mut self, sink: &mut S) {
        if self.spec.is_lean {
            self.advance_lean(sink);
        } else {
            let order = self.state.shuffled(self.wiring.routers.len());
            let mut cycle = Cycle::of(self);
            cycle.arrive(sink);
            cycle.send_from_sources();
            cycle.step_routers(order);
        }
        if self.spec.bounded {
            if self.spec.is_lean {
                self.take_at_lean_endpoints(sink);
            } else {
                Cycle::of(self).take_at_endpoints(sink);
            }
            if self.state.now.is_multiple_of(LOOK) {
                self.look_for_stillness();
            }
        }
        #[cfg(debug_assertions)]
        self.check_conservation();
        self.state.now += 1;
    }

    /// Steps until the current cycle is `cycle`, skipping cycles in which nothing can happen.
    pub fn run_to<S: Sink>(&mut self, cycle: Cycles, sink: &mut S) {
        while self.state.now < cycle.0 {
            match self.next_activity() {
                Some(at) if at.0 < cycle.0 => {
                    self.state.now = at.0;
                    self.step(sink);
                }
                _ => self.state.now = cycle.0,
            }
        }
    }

    /// Steps until packets arrive or `last` was the last cycle, skipping cycles in which nothing can happen. Gives the last
    /// cycle that was simulated; `None` where nothing can happen up to `last`.
    pub fn run_to_arrival<S: Sink>(&mut self, last: Cycles, sink: &mut S) -> Option<Cycles> {
        let inside = self.in_flight();
        let mut stepped = None;
        while let Some(at) = self.next_activity().filter(|at| *at <= last) {
            self.state.now = at.0;
            self.step(sink);
            stepped = Some(at);
            if self.in_flight() != inside {
                break;
            }
        }
        stepped
    }

    /// The first cycle, from the current one on, in which something can happen without another injection; `None`
    /// when the network is empty, or when every packet in it has long stood still before endpoints that have no place.
    #[inline]
    pub fn next_activity(&self) -> Option<Cycles> {
        if self.state.still {
            return None;
        }
        if !(self.state.sources.sending.is_empty()
            && self.state.active.is_empty()
            && self.state.endpoints.receiving.is_empty())
        {
            return Some(Cycles(self.state.now));
        }
        self.next_under_way().map(Cycles)
    }

    /// The first cycle, from the current one on, in which something that is under way arrives.
    #[inline]
    fn next_under_way(&self) -> Option<u64> {
        if self.spec.is_lean {
            return self.state.lean.wheels.next(self.state.now);
        }
        let next = [
            self.state.general.arrivals.next(self.state.now),
            self.state.general.credits.next(self.state.now),
            self.state.general.moves.next(self.state.now),
        ];
        next.into_iter().chain([self.state.general.wakes.next(self.state.now)]).flatten().min()
    }

    /// Something has come from outside: it is looked anew whether anything moves.
    #[inline]
    fn stirs(&mut self) {
        (self.state.still, self.state.sent_before) = (false, u64::MAX);
    }

    /// No router has sent a flit since the last look, and nothing is under way: all packets that are left wait for a place at an
    /// endpoint, or behind one that does. Routers that bid in vain then cause no more cycles.
    #[cold]
    fn look_for_stillness(&mut self) {
        let sent = self.flit_hops();
        let moves = std::mem::replace(&mut self.state.sent_before, sent) != sent;
        self.state.still = !moves && self.state.endpoints.receiving.is_empty() && self.next_under_way().is_none();
    }

    /// The cycle that the next [`Network::step`] simulates.
    pub fn now(&self) -> Cycles {
        Cycles(self.state.now)
    }

    /// Packets in source queues and in the network, and those that a bounded endpoint has not yet taken.
    pub fn in_flight(&self) -> usize {
        self.state.slots.used()
    }

    /// One for each flit and router that it passed, since the beginning.
    pub fn flit_hops(&self) -> u64 {
        if self.spec.is_lean {
            return self.state.lean.flit_hops();
        }
        let channels = self.state.general.channels.iter().zip(self.wiring.links.iter());
        channels.filter(|(_, link)| !link.from_source).map(|(channel, _)| channel.flits).sum()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.spec.nodes
    }

    /// The configuration that it was built of.
    pub fn config(&self) -> &Config {
        &self.spec.config
    }

    /// Its topology.
    pub fn graph(&self) -> &Graph {
        &self.wiring.graph
    }

    /// Gives a place of a bounded endpoint back: it may take one more packet of `class`. Without a bound, nothing.
    pub fn release(&mut self, node: NodeId, class: u8) {
        let class = usize::from(class);
        let endpoints = &mut self.state.endpoints;
        let Some(end) = endpoints.ends.get_mut(node.0 as usize).filter(|_| class < self.spec.classes as usize) else {
            return;
        };
        end.places[class] += 1;
        end.may |= channels_of(class, self.spec.vcs_a_class);
        endpoints.receiving.insert(node.0 as usize);
        self.stirs();
    }

    /// Steps routers in an order drawn anew each cycle. It must change no result: a test holds that.
    pub fn shuffle_step_order(&mut self, seed: u64) {
        self.state.lean.become_any(self.wiring.masks[0]);
        self.state.step_order = Some(Rng::new(seed, 0x6f72_6465, 0));
    }
}
