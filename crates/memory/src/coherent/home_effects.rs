//! What the rows of the protocol do at a home: messages leave, data is stored or read, the line leaves the shared level.

use super::exchange::Exchange;
use super::homes::{Homes, Visit};
use super::message::{Content, Flight, NONE, Stage, Unit};
use super::spec::Spec;
use crate::parts::Part;
use baton_coherence::home;
use baton_coherence::{Agent, CoreSet, Kind, Message};
use baton_units::CoreId;

/// What the rows do at a home.
pub(super) struct HomeEffects<'a, S: CoreSet> {
    pub(super) spec: &'a Spec,
    pub(super) homes: &'a mut Homes<S>,
    pub(super) exchange: &'a mut Exchange,
    pub(super) entry: usize,
    pub(super) visit: Visit,
    /// The message that is presented.
    pub(super) flight: &'a Flight,
    /// Whether the message's data was stored in this step, so that the home need not read it from
    /// the bank or memory.
    pub(super) carried: bool,
    /// The core whose far atomic was performed in this step.
    pub(super) atomic: Option<CoreId>,
}

impl<'a, S: CoreSet> HomeEffects<'a, S> {
    /// The effects on an entry, for a message.
    #[inline(always)]
    pub(super) fn on(
        entry: usize,
        flight: &'a Flight,
        spec: &'a Spec,
        homes: &'a mut Homes<S>,
        exchange: &'a mut Exchange,
        visit: Visit,
    ) -> Self {
        HomeEffects { spec, homes, exchange, entry, visit, flight, carried: false, atomic: None }
    }

    fn bank_fill(&mut self, dirty: bool) {
        self.homes.bank_fill(self.spec, self.exchange, self.flight.line, dirty, self.visit);
    }
}

/// Whether the message brings the home's data.
fn brings_data(kind: Kind) -> bool {
    matches!(kind, Kind::DataS | Kind::DataE | Kind::DataM | Kind::OfferS | Kind::OfferE | Kind::AtomicDone)
}

impl<S: CoreSet> home::Effects<S> for HomeEffects<'_, S> {
    fn send(&mut self, to: Agent, message: Message) {
        let Agent::Core(core) = to else { unreachable!("a home sends to cores") };
        let Visit { home, now } = self.visit;
        let (line, times) = (self.flight.line, &self.spec.times);
        let mut flight = Flight {
            stage: Stage::Send,
            content: Content::Protocol(message),
            from: Unit::Home(home),
            to: Unit::Core(core.0),
            placed: false,
            next: NONE,
            since: now,
            version: self.exchange.golden.home(line),
            ..*self.flight
        };
        if !brings_data(message.kind) {
            flight.charge(Part::Home, now + times.directory);
            self.exchange.post(flight, now + times.directory);
            return;
        }
        let reading = !self.homes.entries[self.entry].wanting.is_empty();
        if !reading && (self.carried || self.homes.bank_has(self.spec, home, line)) {
            self.exchange.counts.memory.shared_hits += 1;
            flight.charge(Part::Home, now + times.bank);
            if message.kind == Kind::AtomicDone {
                flight.charge(Part::Atomic, flight.since + times.home_atomic);
            }
            let at = flight.since;
            self.exchange.post(flight, at);
            return;
        }
        // The answer to the reader waits for the line from memory. Its way up to the moment when
        // the read leaves counts for the home.
        let leaves = now + times.directory;
        flight.charge(Part::Home, leaves);
        flight.stage = Stage::Wait;
        let waits = self.exchange.flights.put(flight);
        self.homes.entries[self.entry].wanting.push(waits, &mut self.exchange.flights);
        if !reading {
            let to = Unit::Controller(self.spec.map.controller(line, &self.exchange.pages));
            let read = Flight { stage: Stage::Send, content: Content::Read, to, ..flight };
            self.exchange.post(read, leaves);
        }
    }

    fn store(&mut self) {
        self.carried = true;
        self.exchange.golden.store(self.flight.line, self.flight.version);
        self.bank_fill(true);
    }

    fn atomic(&mut self, core: CoreId) {
        self.atomic = Some(core);
        self.exchange.counts.memory.far_atomics += 1;
        self.exchange.golden.write_home(self.flight.line);
        if self.homes.bank_has(self.spec, self.visit.home, self.flight.line) {
            self.bank_fill(true);
        }
    }

    fn drop_line(&mut self) {
        self.homes.bank_drop(self.spec, self.exchange, self.flight.line, self.visit);
    }

    fn victim(&mut self, sharers: &S) -> CoreId {
        // Sharers take turns as the one that must give up its copy.
        self.homes.victims += 1;
        let turn = self.homes.victims % u32::from(sharers.len().max(1));
        let (mut at, mut chosen) = (0, CoreId(0));
        sharers.each(|core| {
            if at == turn {
                chosen = core;
            }
            at += 1;
        });
        chosen
    }
}
