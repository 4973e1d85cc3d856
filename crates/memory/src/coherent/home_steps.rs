//! The steps of a home: a message comes, a request has its turn, a line comes from memory. The rows
//! of `baton-coherence` say what a home does to a line.
//!
//! A request has its turn at the bank, one every `home.cycles`. If its line is busy, the request
//! waits at the home, and all later requests for the line wait behind it. When the line's state has
//! changed, the waiting requests have another turn: in order of arrival, or by their marks
//! (`order.rs`).

use super::bank::Room;
use super::exchange::Exchange;
use super::home_effects::HomeEffects;
use super::homes::{HomeDid, Homes, Visit};
use super::message::{Content, Flight, List, Stage, Unit};
use super::spec::Spec;
use crate::parts::Part;
use baton_coherence::home::{self, Event};
use baton_coherence::{Class, CoreSet, Kind, Message, Then};

impl<S: CoreSet> Homes<S> {
    /// Takes a protocol message at a home.
    #[inline]
    pub(super) fn take(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        id: u32,
        message: Message,
        visit: Visit,
    ) -> HomeDid {
        exchange.counts.memory.messages += 1;
        if message.kind.class() == Class::Request {
            self.give_turn(spec, exchange, id, Stage::Turn, visit);
            return HomeDid::default();
        }
        let flight = exchange.flights.take(id);
        let entry = self.entry(flight.line);
        let (_, done) = self.present(spec, exchange, (entry, &flight), &message, visit);
        self.go_on(spec, exchange, entry, visit);
        done
    }

    /// Gives a request the bank's next turn.
    fn give_turn(&mut self, spec: &Spec, exchange: &mut Exchange, id: u32, stage: Stage, visit: Visit) {
        let home = &mut self.all[visit.home as usize];
        let at = home.free_at.max(visit.now);
        home.free_at = at + spec.times.home_cycles;
        exchange.flights[id].stage = stage;
        exchange.schedule(id, at);
    }

    /// Handles a request's turn. `again`: the request has waited for its line, and is the first in
    /// line.
    pub(super) fn turn(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        id: u32,
        message: Message,
        again: bool,
        visit: Visit,
    ) -> HomeDid {
        let flight = &mut exchange.flights[id];
        flight.charge(Part::HomeQueueing, visit.now);
        flight.stage = Stage::Wait;
        let line = flight.line;
        let entry = self.entry(line);
        let here = &mut self.entries[entry];
        if !again && (!here.waiting.is_empty() || here.again || here.leaving) {
            here.waiting.push(id, &mut exchange.flights);
            return HomeDid::default();
        }
        if spec.inclusive && needs_place(message.kind) && !self.makes_room(spec, exchange, entry, visit) {
            self.all[visit.home as usize].parked.push_back((id, again));
            return HomeDid::default();
        }
        if again {
            self.entries[entry].again = false;
        }
        let flight = exchange.flights[id];
        let (then, mut done) = self.present(spec, exchange, (entry, &flight), &message, visit);
        match then {
            Then::Take => {
                exchange.flights.take(id);
                done.place_is_free = flight.placed;
            }
            Then::Wait | Then::Retain => {
                self.entries[entry].begun = then == Then::Retain;
                self.entries[entry].waiting.push_front(id, &mut exchange.flights);
            }
        }
        self.go_on(spec, exchange, entry, visit);
        done
    }

    /// Makes a place for the line of an entry in an inclusive bank. Returns whether the line has
    /// one now.
    fn makes_room(&mut self, spec: &Spec, exchange: &mut Exchange, entry: usize, visit: Visit) -> bool {
        let way = match self.bank_room(spec, exchange, entry, visit.home) {
            Room::Here => return true,
            Room::Later => return false,
            Room::At(way) => way,
        };
        if let Some(victim) = self.bank_line(way) {
            let victim = self.entry(victim);
            if !self.evict(spec, exchange, victim, visit) {
                return false;
            }
        }
        self.bank_keep(way, self.entries[entry].line);
        true
    }

    /// Presents a message to a line's directory entry.
    #[inline(always)]
    fn present(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        (entry, flight): (usize, &Flight),
        message: &Message,
        visit: Visit,
    ) -> (Then, HomeDid) {
        let mut directory = self.entries[entry].directory;
        let mut effects = HomeEffects::on(entry, flight, spec, self, exchange, visit);
        let then = home::deliver(&spec.protocol.home, &mut directory, message, spec.naming, &mut effects);
        let atomic = effects.atomic.map(|core| (core, flight.line));
        self.entries[entry].directory = directory;
        match then {
            Ok(then) => (then, HomeDid { atomic, place_is_free: false }),
            Err(hole) => panic!("line {} at home {}: {hole}", flight.line, visit.home),
        }
    }

    /// After a step, presents messages again that waited for the line, unless they would only wait
    /// on.
    fn go_on(&mut self, spec: &Spec, exchange: &mut Exchange, entry: usize, visit: Visit) {
        if self.entries[entry].leaving && !self.evict(spec, exchange, entry, visit) {
            return;
        }
        if !self.all[visit.home as usize].parked.is_empty() && self.entries[entry].directory.state.is_stable() {
            self.unpark(spec, exchange, visit);
        }
        let here = &mut self.entries[entry];
        if here.again || here.waiting.is_empty() {
            return;
        }
        let chosen = spec.order.as_ref().map(|order| here.most_urgent(order, &exchange.flights));
        let first = chosen.map_or(here.waiting.head, |chosen| chosen.id);
        if let Content::Protocol(message) = exchange.flights[first].content
            && let Some(event) = Event::of(&message, &here.directory, spec.naming)
            && let Ok(row) = spec.protocol.home.row(here.directory.state, event)
            && row.then == Then::Wait
        {
            return;
        }
        match chosen {
            None => drop(here.waiting.pop(&exchange.flights)),
            Some(chosen) => here.serve(chosen, &mut exchange.flights),
        }
        here.again = true;
        self.give_turn(spec, exchange, first, Stage::Again, visit);
    }

    /// Tries to evict a line from the shared level. Returns whether the line's place is free now.
    /// If not, the line's transaction must end, or cores must give up their copies first.
    fn evict(&mut self, spec: &Spec, exchange: &mut Exchange, entry: usize, visit: Visit) -> bool {
        if !self.entries[entry].directory.state.is_stable() {
            return false;
        }
        let (line, home) = (self.entries[entry].line, Unit::Home(visit.home));
        let mut directory = self.entries[entry].directory;
        let flight = Flight::leaving(Content::Write, line, home, home, visit.now);
        let mut effects = HomeEffects::on(entry, &flight, spec, self, exchange, visit);
        let then = home::evict(&spec.protocol.home, &mut directory, &mut effects);
        self.entries[entry].directory = directory;
        match then {
            Ok(Then::Take) => {
                self.entries[entry].leaving = false;
                self.unpark(spec, exchange, visit);
                true
            }
            Ok(_) => {
                self.entries[entry].leaving = true;
                false
            }
            Err(hole) => panic!("line {line} at home {}: {hole}", visit.home),
        }
    }

    /// A bank has a place again: requests that had none get another turn.
    fn unpark(&mut self, spec: &Spec, exchange: &mut Exchange, visit: Visit) {
        let mut parked = std::mem::take(&mut self.all[visit.home as usize].parked);
        for (id, again) in parked.drain(..) {
            self.give_turn(spec, exchange, id, if again { Stage::Again } else { Stage::Turn }, visit);
        }
        self.all[visit.home as usize].parked = parked;
    }

    /// Takes a line that has come from memory to its home: the messages that wait for its data
    /// leave.
    pub(super) fn line_comes(&mut self, spec: &Spec, exchange: &mut Exchange, id: u32, visit: Visit) {
        let answer = exchange.flights.take(id);
        let line = answer.line;
        let entry = self.entry(line);
        let mut wanting = std::mem::replace(&mut self.entries[entry].wanting, List::EMPTY);
        self.bank_fill(spec, exchange, line, false, visit);
        let mut first = true;
        while let Some(wants) = wanting.pop(&exchange.flights) {
            let mut flight = exchange.flights.take(wants);
            if std::mem::take(&mut first) {
                // The read was sent for the first of these messages, so that the parts of the
                // read's time are parts of its time.
                (flight.parts, flight.since) = (answer.parts, answer.since);
            }
            // The answer to a reader whose lookup is still going on leaves when the lookup is over.
            let mut at = visit.now.max(flight.since);
            flight.charge(Part::Memory, at);
            if let Content::Protocol(Message { kind: Kind::AtomicDone, .. }) = flight.content {
                at += spec.times.home_atomic;
                flight.parts.add(Part::Atomic, spec.times.home_atomic);
                flight.since = at;
                self.bank_fill(spec, exchange, line, true, visit);
            }
            flight.version = exchange.golden.home(line);
            flight.stage = Stage::Send;
            exchange.post(flight, at);
        }
        // The line's data has come, so that an inclusive bank may evict the line now.
        if !self.all[visit.home as usize].parked.is_empty() {
            self.unpark(spec, exchange, visit);
        }
    }
}

/// Whether an inclusive bank must have a place for the line before the request is served.
fn needs_place(kind: Kind) -> bool {
    matches!(kind, Kind::GetS | Kind::GetM | Kind::Upgrade | Kind::FarAtomic)
}
