//! The interface of a network: inject packets, simulate cycles.

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

/// Cycles between two checks whether anything moves. This is far longer than the longest link and
/// the slowest clock together, so that everything that was sent before one check has had its turn
/// before the next.
const LOOK: u64 = 1 << 14;

impl<A: Arbiter> Network<A> {
    /// Puts a packet into its source's queue in the current cycle and returns its number. The queue
    /// is unbounded.
    ///
    /// Fails if a node does not exist, if the length is 0, if the configuration has no such class,
    /// or if the network holds 2^28 packets.
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

    /// Like [`Network::inject`], for a packet that is known to be valid. Panics if the network holds
    /// 2^28 packets.
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

    /// Simulates the current cycle and moves on to the next one. Packets whose tail flit leaves the
    /// network in this cycle go to `sink`, with this cycle as their time of arrival.
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

    /// Steps until packets arrive or cycle `last` has been simulated, skipping cycles in which
    /// nothing can happen. Returns the last cycle simulated, or `None` if nothing can happen up to
    /// `last`.
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

    /// Returns the first cycle, from the current one on, in which something can happen without
    /// another injection. Returns `None` if the network is empty, or if every packet in it has long
    /// stood still before an endpoint without a free place, or behind such packets.
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

    /// Returns the first cycle, from the current one on, in which a flit, a credit or an allocation
    /// arrives.
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

    /// Makes the network check again whether anything moves, because something has come from
    /// outside.
    #[inline]
    fn stirs(&mut self) {
        (self.state.still, self.state.sent_before) = (false, u64::MAX);
    }

    /// Checks whether the network stands still: no router has sent a flit since the last check, and
    /// nothing travels. All remaining packets then wait for a place at an endpoint, or behind a
    /// packet that does. In a still network, routers that bid in vain cause no more cycles.
    #[cold]
    fn look_for_stillness(&mut self) {
        let sent = self.flit_hops();
        let moves = std::mem::replace(&mut self.state.sent_before, sent) != sent;
        self.state.still = !moves && self.state.endpoints.receiving.is_empty() && self.next_under_way().is_none();
    }

    /// Returns the cycle that the next [`Network::step`] simulates.
    pub fn now(&self) -> Cycles {
        Cycles(self.state.now)
    }

    /// Returns the number of packets in source queues and in the network, including those that a
    /// bounded endpoint has not yet taken.
    pub fn in_flight(&self) -> usize {
        self.state.slots.used()
    }

    /// Returns the number of flit-hops since the beginning: one for each router that a flit passed.
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

    /// The configuration from which the network was built.
    pub fn config(&self) -> &Config {
        &self.spec.config
    }

    /// The network's topology as a graph.
    pub fn graph(&self) -> &Graph {
        &self.wiring.graph
    }

    /// Frees a place of the bounded endpoint at `node`, so that it may take one more packet of
    /// `class`. Does nothing in a network without bounded endpoints.
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

    /// Makes the network step its routers in a random order that changes each cycle. Results must
    /// not change; a test checks that.
    pub fn shuffle_step_order(&mut self, seed: u64) {
        self.state.lean.become_any(self.wiring.masks[0]);
        self.state.step_order = Some(Rng::new(seed, 0x6f72_6465, 0));
    }
}
