//! Memory controllers: banks with one open row each, a queue that is searched for row hits first,
//! and a bus with a limited number of bytes per cycle (first-ready first-come-first-served: S.
//! Rixner et al., *Memory Access Scheduling*, ISCA 2000).

use super::exchange::Exchange;
use super::message::{Content, Flight, Flights, Stage, Unit};
use super::spec::{DramSpec, Spec};
use crate::parts::Part;
use baton_chipfile::config::coherent::Dram;
use std::collections::VecDeque;

/// A bank.
#[derive(Clone, Copy, Default)]
struct Bank {
    /// The number of the open row, plus one.
    row: u32,
    /// The time from which a line of that row can be read: lines follow each other as fast as the
    /// bus takes them.
    same_at: u64,
    /// The time from which another row can be opened: the last line must have left.
    other_at: u64,
    /// Number of the last search for work that found a request for the open row.
    wanted: u64,
}

/// One controller.
#[derive(Clone)]
pub(super) struct Controller {
    banks: Vec<Bank>,
    /// Requests in order of arrival; the first `window` of them can be chosen.
    waiting: VecDeque<Request>,
    bus_free_at: u64,
    /// Number of searches for work so far.
    look: u64,
    /// The event by which the controller looks for work again.
    kick: u32,
    kicks_at: u64,
}

#[derive(Clone, Copy)]
struct Request {
    flight: u32,
    bank: u32,
    row: u32,
    /// Whether the row was opened for this request.
    opened: bool,
}

/// What a controller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Moves the line of the request at this place, whose row is open.
    Move(usize),
    /// Opens the row of the request at this place.
    Open(usize),
    /// Nothing before this time; [`u64::MAX`] if only another request can bring work.
    Until(u64),
}

/// All controllers.
#[derive(Clone)]
pub(super) struct Memories {
    pub(super) all: Vec<Controller>,
}

/// The number of waiting requests among which a controller chooses if `dram.queue` is 0.
const UNBOUNDED_WINDOW: usize = 64;

impl DramSpec {
    pub(super) fn new(dram: &Dram, line_bytes: u32) -> DramSpec {
        DramSpec {
            banks: dram.banks,
            lines_a_row: (dram.row_bytes / u64::from(line_bytes)) as u32,
            hit: dram.row_hit.0,
            miss: dram.row_miss.0,
            transfer: (f64::from(line_bytes) * 256.0 / dram.bytes_per_cycle).ceil() as u64,
            window: if dram.queue == 0 { UNBOUNDED_WINDOW } else { dram.queue as usize },
        }
    }

    /// The bank of a row of this controller's memory, and the row's number in that bank. The digits
    /// of `row` are folded into the bank, so that ranges a power of two apart do not all meet in
    /// one bank (permutation-based interleaving: Zhang, Zhu and Zhang, MICRO 2000).
    fn bank(&self, row: u32) -> (u32, u32) {
        let mut bank = row % self.banks;
        let mut rest = row / self.banks;
        while rest != 0 && self.banks != 1 {
            bank += rest % self.banks;
            rest /= self.banks;
        }
        (bank % self.banks, row / self.banks)
    }
}

impl Controller {
    /// Creates a controller with `banks` banks. `kick` is the event by which the controller looks
    /// for work again.
    fn new(banks: u32, kick: u32) -> Controller {
        Controller {
            banks: vec![Bank::default(); banks as usize],
            waiting: VecDeque::new(),
            bus_free_at: 0,
            look: 0,
            kick,
            kicks_at: u64::MAX,
        }
    }

    /// Chooses the next work. A request whose row is open comes first (first-ready). Otherwise the
    /// controller opens a row in a bank whose open row no request needs. Within each kind, the
    /// order is that of arrival.
    fn choose(&mut self, spec: &DramSpec, now: u64) -> Work {
        let Controller { banks, waiting, bus_free_at, look, .. } = self;
        *look += 1;
        // A line is read from an open row no sooner than the bus can move it right afterwards, so
        // that the next request for the bus is chosen as late as possible.
        let bus = (*bus_free_at / 256).saturating_sub(spec.hit);
        let mut until = u64::MAX;
        for (at, request) in waiting.iter().take(spec.window).enumerate() {
            let bank = &mut banks[request.bank as usize];
            if bank.row == request.row + 1 {
                bank.wanted = *look;
                let begins = bank.same_at.max(bus);
                if begins <= now {
                    return Work::Move(at);
                }
                until = until.min(begins);
            }
        }
        for (at, request) in waiting.iter().take(spec.window).enumerate() {
            let bank = &banks[request.bank as usize];
            if bank.wanted != *look {
                if bank.other_at <= now {
                    return Work::Open(at);
                }
                until = until.min(bank.other_at);
            }
        }
        Work::Until(until)
    }

    /// Opens the row of the request at a place.
    fn open(&mut self, spec: &DramSpec, at: usize, now: u64) {
        let request = &mut self.waiting[at];
        request.opened = true;
        let bank = &mut self.banks[request.bank as usize];
        bank.row = request.row + 1;
        bank.same_at = now + spec.miss.saturating_sub(spec.hit);
        bank.other_at = bank.same_at;
    }

    /// Begins to move the line of the request at a place. Returns the request, and the time at
    /// which its line is moved.
    fn transfer(&mut self, spec: &DramSpec, at: usize, now: u64) -> (Request, u64) {
        let Some(request) = self.waiting.remove(at) else { unreachable!("chosen among those that wait") };
        // Time on the bus is counted in 1/256 of a cycle, so that fractions of a cycle per line are
        // not lost.
        let begin = self.bus_free_at.max((now + spec.hit) * 256);
        self.bus_free_at = begin + spec.transfer;
        let moved = (begin + spec.transfer).div_ceil(256);
        let bank = &mut self.banks[request.bank as usize];
        (bank.same_at, bank.other_at) = (now + spec.transfer / 256, moved);
        (request, moved)
    }

    /// Begins all work that can begin, and schedules the next look.
    fn look(&mut self, spec: &DramSpec, exchange: &mut Exchange, now: u64) {
        let until = loop {
            match self.choose(spec, now) {
                Work::Until(at) => break at,
                Work::Open(at) => self.open(spec, at, now),
                Work::Move(at) => {
                    let (request, moved) = self.transfer(spec, at, now);
                    exchange.counts.memory.row_hits += u64::from(!request.opened);
                    exchange.flights[request.flight].stage = Stage::Moved;
                    exchange.schedule(request.flight, moved);
                }
            }
        };
        self.look_again(exchange, until);
    }

    /// Has the controller look for work at a time; [`u64::MAX`]: only when a request comes.
    fn look_again(&mut self, exchange: &mut Exchange, at: u64) {
        if at == self.kicks_at {
            return;
        }
        if self.kicks_at != u64::MAX {
            exchange.events.cancel(self.kick);
        }
        self.kicks_at = at;
        if at != u64::MAX {
            exchange.schedule(self.kick, at);
        }
    }
}

impl Memories {
    /// The controllers of a chip; the event of each is put among the messages.
    pub(super) fn new(dram: &Dram, flights: &mut Flights) -> Memories {
        let kick = |number| {
            let controller = Unit::Controller(number);
            Flight { stage: Stage::Kick, ..Flight::leaving(Content::Read, 0, controller, controller, 0) }
        };
        let all = (0..dram.controllers).map(|number| Controller::new(dram.banks, flights.put(kick(number))));
        Memories { all: all.collect() }
    }

    /// Takes a read or a write at its controller.
    pub(super) fn take(&mut self, spec: &Spec, exchange: &mut Exchange, id: u32, number: u32, now: u64) {
        let flight = &mut exchange.flights[id];
        flight.stage = Stage::Wait;
        let row = spec.map.number_at_controller(flight.line) / spec.dram.lines_a_row;
        let (bank, row) = spec.dram.bank(row);
        let controller = &mut self.all[number as usize];
        controller.waiting.push_back(Request { flight: id, bank, row, opened: false });
        controller.look(&spec.dram, exchange, now);
    }

    /// Handles a controller's own event.
    pub(super) fn kicked(&mut self, spec: &Spec, exchange: &mut Exchange, number: u32, now: u64) {
        let controller = &mut self.all[number as usize];
        controller.kicks_at = u64::MAX;
        controller.look(&spec.dram, exchange, now);
    }
}

/// Handles a line that memory has moved: a read is answered, a write is over.
pub(super) fn moved(exchange: &mut Exchange, id: u32, number: u32, now: u64) {
    let mut flight = exchange.flights.take(id);
    if flight.content == Content::Write {
        exchange.counts.memory.memory_writes += 1;
        return;
    }
    exchange.counts.memory.fetches += 1;
    flight.charge(Part::Memory, now);
    let (from, to) = (Unit::Controller(number), flight.from);
    exchange.post(Flight { stage: Stage::Send, content: Content::Line, from, to, ..flight }, now);
}
