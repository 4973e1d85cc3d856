//! The homes' side: a directory entry a line, requests that wait for their line or for the bank's turn, data from the bank
//! or from memory. What a home does to a line is a row of `baton-coherence`.
//!
//! A request has its turn at the bank, one every `home.cycles`. If its line is busy it waits there, and all later
//! requests for the line behind it; each has another turn when the line's state has changed.

use super::Coherent;
use super::bank::Room;
use super::message::{Flight, List, NONE, Stage, Unit, What};
use super::places::REQUESTS;
use crate::engine::queue::Rank;
use crate::memory::border::{Notice, Part};
use baton_coherence::home::{self, Event, Line, State};
use baton_coherence::{Agent, Class, CoreSet, Kind, Message, Then};
use baton_units::CoreId;
use std::collections::VecDeque;

/// A line at its home.
pub(super) struct Entry<S> {
    pub(super) line: u32,
    pub(super) directory: Line<S>,
    /// Requests that wait for the line.
    pub(super) waiting: List,
    /// Messages that wait for the line's data from memory; not empty: it is being read.
    pub(super) wanting: List,
    /// The first request that waited is about to have another turn.
    again: bool,
    /// The shared level is giving the line up.
    pub(super) leaving: bool,
}

/// One home.
#[derive(Default)]
pub(super) struct Home {
    /// When the bank has its next turn to give.
    free_at: u64,
    /// Requests for which an inclusive bank has no place yet, and whether they are the first that wait for their line.
    pub(super) parked: VecDeque<(u32, bool)>,
}

impl<S: CoreSet> Coherent<S> {
    /// The entry of a line; it is made on first use.
    #[inline]
    pub(super) fn entry(&mut self, line: u32) -> usize {
        let at = self.entry_of[line as usize];
        if at != 0 {
            return at as usize - 1;
        }
        let (directory, list) = (Line::default(), List::EMPTY);
        self.entries.push(Entry { line, directory, waiting: list, wanting: list, again: false, leaving: false });
        self.entry_of[line as usize] = self.entries.len() as u32;
        self.entries.len() - 1
    }

    /// A protocol message has come to a home.
    #[inline]
    pub(super) fn home_takes(&mut self, id: u32, home: u32, message: Message, now: u64) {
        self.counts.messages += 1;
        if message.kind.class() != Class::Request {
            let flight = self.flights.take(id);
            self.home_step(&flight, home, &message, now);
            let entry = self.entry(flight.line);
            self.home_goes_on(entry, home, now);
            return;
        }
        self.turn(id, home, Stage::Turn, now);
    }

    /// Gives a request the bank's next turn.
    fn turn(&mut self, id: u32, home: u32, stage: Stage, now: u64) {
        let bank = &mut self.homes[home as usize];
        let at = bank.free_at.max(now);
        bank.free_at = at + self.times.home_cycles;
        self.flights[id].stage = stage;
        self.events.put(id, at, Rank::Next);
    }

    /// A request has its turn; `again`: it has waited for its line, and is the first in line.
    pub(super) fn home_turn(&mut self, id: u32, home: u32, message: Message, again: bool, now: u64) {
        self.flights[id].charge(Part::HomeQueueing, now);
        self.flights[id].stage = Stage::Wait;
        let line = self.flights[id].line;
        let entry = self.entry(line);
        let here = &mut self.entries[entry];
        if !again && (!here.waiting.is_empty() || here.again || here.leaving) {
            here.waiting.push(id, &mut self.flights);
            return;
        }
        if self.inclusive && message_needs_place(message.kind) {
            match self.bank_room(entry, home, now) {
                Room::Here => {}
                Room::Later => {
                    self.homes[home as usize].parked.push_back((id, again));
                    return;
                }
            }
        }
        if again {
            self.entries[entry].again = false;
        }
        let flight = self.flights[id];
        match self.home_step(&flight, home, &message, now) {
            Then::Take => {
                self.flights.take(id);
                if flight.placed {
                    self.net.release(now, self.plan.node(Unit::Home(home)), REQUESTS);
                    self.net_next = self.net.next();
                }
            }
            Then::Wait | Then::Retain => self.entries[entry].waiting.push_front(id, &mut self.flights),
        }
        self.home_goes_on(entry, home, now);
    }

    /// Presents a message to a line's directory entry.
    fn home_step(&mut self, flight: &Flight, home: u32, message: &Message, now: u64) -> Then {
        let entry = self.entry(flight.line);
        let mut directory = self.entries[entry].directory;
        let (table, pointers) = (&self.protocol.home, self.pointers);
        let mut effects = HomeEffects { chip: self, entry, home, now, flight: *flight, carried: false };
        let then = home::deliver(table, &mut directory, message, pointers, &mut effects);
        self.entries[entry].directory = directory;
        match then {
            Ok(then) => then,
            Err(hole) => panic!("line {} at home {home}: {hole}", flight.line),
        }
    }

    /// After a step: what waited for the line is presented again, if it would not only wait on.
    pub(super) fn home_goes_on(&mut self, entry: usize, home: u32, now: u64) {
        if self.entries[entry].leaving && !self.home_evicts(entry, home, now) {
            return;
        }
        if !self.homes[home as usize].parked.is_empty() && self.entries[entry].directory.state.is_stable() {
            self.unpark(home, now);
        }
        let here = &self.entries[entry];
        if here.again || here.waiting.is_empty() {
            return;
        }
        let first = here.waiting.head;
        if let What::Protocol(message) = self.flights[first].what
            && let Some(event) = Event::of(&message, &here.directory, self.pointers)
            && let Ok(row) = self.protocol.home.row(here.directory.state, event)
            && row.then == Then::Wait
        {
            return;
        }
        let here = &mut self.entries[entry];
        here.waiting.pop(&self.flights);
        here.again = true;
        self.turn(first, home, Stage::Again, now);
    }

    /// The shared level wants the place of a line; whether it has got it.
    pub(super) fn home_evicts(&mut self, entry: usize, home: u32, now: u64) -> bool {
        if !self.entries[entry].directory.state.is_stable() {
            return false;
        }
        let line = self.entries[entry].line;
        let mut directory = self.entries[entry].directory;
        let table = &self.protocol.home;
        let flight = Flight {
            stage: Stage::Wait,
            what: What::Write,
            line,
            from: Unit::Home(home),
            to: Unit::Home(home),
            placed: false,
            next: NONE,
            since: now,
            parts: Default::default(),
            version: 0,
            mark: Default::default(),
        };
        let mut effects = HomeEffects { chip: self, entry, home, now, flight, carried: false };
        let then = home::evict(table, &mut directory, &mut effects);
        self.entries[entry].directory = directory;
        match then {
            Ok(Then::Take) => {
                self.entries[entry].leaving = false;
                self.unpark(home, now);
                true
            }
            Ok(_) => {
                self.entries[entry].leaving = true;
                false
            }
            Err(hole) => panic!("line {line} at home {home}: {hole}"),
        }
    }

    /// A bank has a place again: requests that had none have another turn.
    fn unpark(&mut self, home: u32, now: u64) {
        let mut parked = std::mem::take(&mut self.homes[home as usize].parked);
        for (id, again) in parked.drain(..) {
            self.turn(id, home, if again { Stage::Again } else { Stage::Turn }, now);
        }
        self.homes[home as usize].parked = parked;
    }

    /// A line has come from memory to its home: whoever wants its data gets it.
    pub(super) fn line_comes_home(&mut self, id: u32, home: u32, now: u64) {
        let answer = self.flights.take(id);
        let line = answer.line;
        let entry = self.entry(line);
        let mut wanting = std::mem::replace(&mut self.entries[entry].wanting, List::EMPTY);
        self.bank_fill(home, line, false, now);
        let mut first = true;
        while let Some(wants) = wanting.pop(&self.flights) {
            let mut flight = self.flights.take(wants);
            if std::mem::take(&mut first) {
                // The read went out for this one.
                (flight.parts, flight.since) = (answer.parts, answer.since);
            }
            // A reader that has only just been looked up has its answer when that is over.
            let mut at = now.max(flight.since);
            flight.charge(Part::Memory, at);
            if let What::Protocol(Message { kind: Kind::AtomicDone, .. }) = flight.what {
                at += self.times.home_atomic;
                flight.parts.add(Part::Atomic, self.times.home_atomic);
                flight.since = at;
                self.bank_fill(home, line, true, now);
            }
            flight.version = self.golden.home(line);
            flight.stage = Stage::Send;
            self.post(flight, at);
        }
        // The line may leave now.
        if !self.homes[home as usize].parked.is_empty() {
            self.unpark(home, now);
        }
    }
}

/// Whether an inclusive bank must have a place for the line before the request is served.
fn message_needs_place(kind: Kind) -> bool {
    matches!(kind, Kind::GetS | Kind::GetM | Kind::Upgrade | Kind::FarAtomic)
}

/// Whether the message brings the home's data.
fn brings_data(kind: Kind) -> bool {
    matches!(kind, Kind::DataS | Kind::DataE | Kind::DataM | Kind::OfferS | Kind::OfferE | Kind::AtomicDone)
}

/// What the rows do at a home.
struct HomeEffects<'a, S: CoreSet> {
    chip: &'a mut Coherent<S>,
    entry: usize,
    home: u32,
    now: u64,
    /// The message that is presented.
    flight: Flight,
    /// Its data was stored in this step, and is at hand.
    carried: bool,
}

impl<S: CoreSet> home::Effects<S> for HomeEffects<'_, S> {
    fn send(&mut self, to: Agent, message: Message) {
        let Agent::Core(core) = to else { unreachable!("a home sends to cores") };
        let line = self.flight.line;
        let times = self.chip.times;
        let mut flight = Flight {
            stage: Stage::Send,
            what: What::Protocol(message),
            from: Unit::Home(self.home),
            to: Unit::Core(core.0),
            placed: false,
            next: NONE,
            since: self.now,
            version: self.chip.golden.home(line),
            ..self.flight
        };
        if !brings_data(message.kind) {
            flight.charge(Part::Home, self.now + times.directory);
            self.chip.post(flight, self.now + times.directory);
            return;
        }
        let reading = !self.chip.entries[self.entry].wanting.is_empty();
        if !reading && (self.carried || self.chip.bank_has(self.home, line)) {
            self.chip.counts.shared_hits += 1;
            flight.charge(Part::Home, self.now + times.bank);
            if message.kind == Kind::AtomicDone {
                flight.charge(Part::Atomic, flight.since + times.home_atomic);
            }
            let at = flight.since;
            self.chip.post(flight, at);
            return;
        }
        // The reader's message waits for memory; its way so far ends where the read leaves.
        let leaves = self.now + times.directory;
        flight.charge(Part::Home, leaves);
        flight.stage = Stage::Wait;
        let waits = self.chip.flights.put(flight);
        let wanting = &mut self.chip.entries[self.entry].wanting;
        wanting.push(waits, &mut self.chip.flights);
        if !reading {
            let to = Unit::Controller(self.chip.plan.controller(line).0);
            let read = Flight { stage: Stage::Send, what: What::Read, to, ..flight };
            self.chip.post(read, leaves);
        }
    }

    fn store(&mut self) {
        self.carried = true;
        self.chip.golden.store(self.flight.line, self.flight.version);
        self.chip.bank_fill(self.home, self.flight.line, true, self.now);
    }

    fn atomic(&mut self, core: CoreId) {
        let slot = self.chip.find(core.0, self.flight.line).slot;
        if let Some(first) = slot.map(|slot| self.chip.slots[slot].first).filter(|&first| first != NONE) {
            let token = self.chip.waiters[first].request.token;
            self.chip.out.push(Notice::Performed { token });
        }
        self.chip.counts.far_atomics += 1;
        self.chip.golden.write_home(self.flight.line);
        if self.chip.bank_has(self.home, self.flight.line) {
            self.chip.bank_fill(self.home, self.flight.line, true, self.now);
        }
    }

    fn drop_line(&mut self) {
        self.chip.bank_drop(self.home, self.flight.line, self.now);
    }

    fn victim(&mut self, sharers: &S) -> CoreId {
        // In turn, so that no sharer is always the one that goes.
        self.chip.victims += 1;
        let turn = self.chip.victims % u32::from(sharers.len().max(1));
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

impl<S: CoreSet> Entry<S> {
    /// Whether an inclusive bank may give up the line now.
    pub(super) fn may_leave(&self) -> bool {
        self.directory.state.is_stable() && !self.leaving && self.wanting.is_empty() && !self.again
    }

    /// Whether no core has it.
    pub(super) fn is_nowhere(&self) -> bool {
        self.directory.state == State::I
    }
}
