//! The coherent memory system as a whole: what is configured, the state of its units, and the network between them. A
//! message whose time has come goes to the unit that it is for.
//!
//! Within a moment the network comes first, then messages in the order in which they were put in, then the engine's own
//! events. So a request meets the state after everything that happened at its moment.

use super::caches::Caches;
use super::controller::{self, Memories};
use super::exchange::Exchange;
use super::homes::{HomeDid, Homes, Visit};
use super::message::{Content, Flight, Stage, Unit};
use super::net::{Arrived, Net};
use super::places::REQUESTS;
use super::spec::Spec;
use crate::border::Notice;
use crate::parts::Part;
use baton_coherence::CoreSet;
use baton_noc::Header;
use baton_units::Cycles;

/// The caches, the homes, the controllers and the network between them. `S`: a set of cores as wide as the chip.
#[derive(Clone)]
pub struct Coherent<S: CoreSet> {
    pub(super) spec: Spec,
    pub(super) state: CoherentState<S>,
    pub(super) wiring: Wiring,
}

/// What changes during a run, packets in the network excepted: plain data, with no pointer to anything outside.
#[derive(Clone)]
pub(super) struct CoherentState<S> {
    pub(super) now: u64,
    /// The time of the next event; the present time if notices have still to be given to the
    /// engine.
    pub(super) next: u64,
    pub(super) exchange: Exchange,
    pub(super) caches: Caches<S>,
    pub(super) homes: Homes<S>,
    pub(super) memories: Memories,
}

/// What connects the units.
#[derive(Clone)]
pub(super) struct Wiring {
    pub(super) net: Net,
    /// The packets that have arrived and are being handled; kept to reuse its memory.
    arrived: Vec<Arrived>,
    /// The next message of this kind is lost: see [`Coherent::lose_next`].
    #[cfg(debug_assertions)]
    loses: Option<baton_coherence::Kind>,
}

impl Wiring {
    pub(super) fn new(net: Net) -> Wiring {
        Wiring {
            net,
            arrived: Vec::new(),
            #[cfg(debug_assertions)]
            loses: None,
        }
    }
}

impl<S: CoreSet> Coherent<S> {
    /// Handles everything that happens at the next moment, which is not after `to`. Moments in
    /// which only flits move are passed at once.
    pub(super) fn moment(&mut self, to: u64) {
        let message = self.state.exchange.events.first();
        let mut now = message;
        if self.wiring.net.due() <= message {
            now = self.packets_arrive(message.min(to));
        }
        self.state.now = now;
        self.state.exchange.events.advance(now);
        while self.state.exchange.events.first() == now {
            let Some((_, id)) = self.state.exchange.events.pop() else { break };
            self.happen(id, now);
        }
    }

    /// Lets the network advance to the next moment in which packets arrive, but not past `until`,
    /// and delivers the packets. Returns the moment that the network has reached.
    #[inline(always)]
    fn packets_arrive(&mut self, until: u64) -> u64 {
        let due = self.wiring.net.due();
        let mut arrived = std::mem::take(&mut self.wiring.arrived);
        let until = until.min(self.state.exchange.hangs_after().max(due));
        let now = self.wiring.net.run(until, &mut arrived).unwrap_or(due);
        self.state.now = now;
        self.state.exchange.events.advance(now);
        for packet in arrived.drain(..) {
            let alone = self.wiring.net.alone(&packet);
            let id = packet.message;
            let exchange = &mut self.state.exchange;
            let flight = &mut exchange.flights[id];
            let took = now - flight.since;
            exchange.counts.note_packet(packet.marked, took);
            flight.parts.add(Part::Network, took.min(alone));
            flight.parts.add(Part::NetworkQueueing, took.saturating_sub(alone));
            flight.since = now;
            self.deliver(id, now);
        }
        self.wiring.arrived = arrived;
        now
    }

    /// Handles a message whose time has come.
    #[inline]
    fn happen(&mut self, id: u32, now: u64) {
        let (spec, exchange) = (&self.spec, &mut self.state.exchange);
        let flight = &exchange.flights[id];
        match (flight.stage, flight.to, flight.content) {
            (Stage::Send, ..) => self.send(id, now),
            (Stage::Deliver, ..) => {
                exchange.flights[id].charge(Part::Network, now);
                self.deliver(id, now);
            }
            (stage @ (Stage::Turn | Stage::Again), Unit::Home(home), Content::Protocol(message)) => {
                let visit = Visit { home, now };
                let did = self.state.homes.turn(spec, exchange, id, message, stage == Stage::Again, visit);
                self.home_did(did, visit);
            }
            (Stage::Moved, Unit::Controller(number), _) => controller::moved(exchange, id, number, now),
            (Stage::Kick, Unit::Controller(number), _) => self.state.memories.kicked(spec, exchange, number, now),
            (stage, to, _) => unreachable!("message {id} for {to:?} has an event in stage {stage:?}"),
        }
    }

    /// Loses the next message of `kind`, so that a test can see the report of a run that hangs.
    /// Only debug builds have this function.
    #[cfg(debug_assertions)]
    pub fn lose_next(&mut self, kind: baton_coherence::Kind) {
        self.wiring.loses = Some(kind);
    }

    /// Sends a message: into the network, or to a unit of the same node.
    #[inline]
    fn send(&mut self, id: u32, now: u64) {
        let (spec, exchange) = (&self.spec, &mut self.state.exchange);
        #[cfg(debug_assertions)]
        if let Content::Protocol(message) = exchange.flights[id].content
            && self.wiring.loses == Some(message.kind)
        {
            self.wiring.loses = None;
            exchange.flights.take(id);
            return;
        }
        let flight = &mut exchange.flights[id];
        let (src, dst) = (spec.map.node(flight.from), spec.map.node(flight.to));
        if src == dst {
            flight.stage = Stage::Deliver;
            exchange.schedule(id, now + spec.times.local);
            return;
        }
        let shape = spec.packets.shape(flight);
        let of_lock = flight.mark.rank.is_some() && spec.packets.rules(flight, shape.class) == REQUESTS;
        exchange.counts.network.packets += 1;
        exchange.counts.network.lock_packets += u64::from(of_lock);
        if spec.packets.no_contention {
            flight.stage = Stage::Deliver;
            let took = self.wiring.net.alone_between(src, dst, shape.flits);
            exchange.schedule(id, now + took);
            return;
        }
        flight.stage = Stage::Travel;
        flight.placed = shape.placed;
        let header = spec.packets.header(flight, shape.class);
        self.wiring.net.send(now, src, dst, shape.flits, header, id);
    }

    /// Delivers a message to its receiver.
    #[inline]
    fn deliver(&mut self, id: u32, now: u64) {
        let (spec, exchange) = (&self.spec, &mut self.state.exchange);
        let flight = &exchange.flights[id];
        match (flight.to, flight.content) {
            (Unit::Core(core), Content::Protocol(message)) => {
                self.state.caches.take(spec, exchange, id, core, message, now);
            }
            (Unit::Home(home), Content::Protocol(message)) => {
                let visit = Visit { home, now };
                let did = self.state.homes.take(spec, exchange, id, message, visit);
                self.home_did(did, visit);
            }
            (Unit::Home(home), Content::Line) => {
                self.state.homes.line_comes(spec, exchange, id, Visit { home, now });
            }
            (Unit::Controller(number), Content::Read | Content::Write) => {
                self.state.memories.take(spec, exchange, id, number, now);
            }
            (Unit::Device(_) | Unit::Core(_), Content::Carried(tag) | Content::Cancel(tag)) => {
                let placed = exchange.flights.take(id).placed;
                exchange.notices.push(Notice::Carried { tag, placed });
            }
            (Unit::Core(_) | Unit::Home(_), Content::Interrupt(tag)) => {
                exchange.flights.take(id);
                exchange.notices.push(Notice::Interrupt { tag });
            }
            (to, content) => unreachable!("{to:?} is sent {content:?}"),
        }
    }

    /// Passes on what a home's step did: a far atomic to the engine, and a free place at the home's
    /// endpoint to the network.
    #[inline(always)]
    fn home_did(&mut self, did: HomeDid, visit: Visit) {
        if let Some((core, line)) = did.atomic
            && let Some(token) = self.state.caches.token(core, line)
        {
            self.state.exchange.notices.push(Notice::Performed { token });
        }
        if did.place_is_free {
            let node = self.spec.map.node(Unit::Home(visit.home));
            self.wiring.net.release(visit.now, node, REQUESTS);
        }
    }

    /// Computes the time of the next event.
    #[inline]
    pub(super) fn refresh(&mut self) {
        let exchange = &mut self.state.exchange;
        self.state.next = if exchange.notices.is_empty() {
            exchange.events.first().min(self.wiring.net.due())
        } else {
            self.state.now
        };
    }

    /// Sends a packet that is no message of the protocol.
    pub(super) fn depart(&mut self, content: Content, from: Unit, to: Unit, mark: Header, now: Cycles) {
        self.state.now = now.0;
        let exchange = &mut self.state.exchange;
        exchange.events.advance(now.0);
        exchange.post(Flight { mark, ..Flight::leaving(content, 0, from, to, now.0) }, now.0);
        self.refresh();
    }
}
