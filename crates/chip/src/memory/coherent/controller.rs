//! Memory controllers: banks with one open row each, a queue that is searched for row hits first, and a bus of so many
//! bytes a cycle (first-ready first-come-first-served: S. Rixner et al., *Memory Access Scheduling*, ISCA 2000).

use super::Coherent;
use super::message::{Flight, NONE, Stage, Unit, What};
use crate::config::coherent::Dram;
use crate::engine::queue::Rank;
use crate::memory::border::Part;
use baton_coherence::CoreSet;
use std::collections::VecDeque;

/// A bank.
#[derive(Clone, Copy, Default)]
struct Bank {
    /// Its open row plus one.
    row: u32,
    /// From when on a line of that row can be read: lines follow each other as fast as the bus takes them.
    same_at: u64,
    /// From when on another row can be opened: the last line must have left.
    other_at: u64,
    /// The look in which a request for the open row was found.
    wanted: u64,
}

/// One controller.
pub(super) struct Controller {
    banks: Vec<Bank>,
    /// Requests in order of arrival; the first `window` of them can be chosen.
    waiting: VecDeque<Request>,
    bus_free_at: u64,
    /// Counts its looks for work.
    look: u64,
    /// The event by which it looks for work again.
    kick: u32,
    kicks_at: u64,
}

#[derive(Clone, Copy)]
struct Request {
    flight: u32,
    bank: u32,
    row: u32,
    /// The row was opened for it.
    opened: bool,
}

/// What a controller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Read or write for the request at this place, whose row is open.
    Move(usize),
    /// Open the row of the one at this place.
    Open(usize),
    /// Nothing before then.
    Until(u64),
}

/// What all controllers have in common.
pub(super) struct Memories {
    pub(super) all: Vec<Controller>,
    banks: u32,
    lines_a_row: u32,
    hit: u64,
    miss: u64,
    /// Cycles that a line keeps the bus, in 1/256.
    transfer: u64,
    window: usize,
}

/// Requests that a controller without a bound looks at.
const UNBOUNDED_WINDOW: usize = 64;

impl Memories {
    pub(super) fn new(dram: &Dram, line_bytes: u32, mut kick: impl FnMut(u32) -> u32) -> Memories {
        let controller = |number| Controller {
            banks: vec![Bank::default(); dram.banks as usize],
            waiting: VecDeque::new(),
            bus_free_at: 0,
            look: 0,
            kick: kick(number),
            kicks_at: u64::MAX,
        };
        Memories {
            all: (0..dram.controllers).map(controller).collect(),
            banks: dram.banks,
            lines_a_row: (dram.row_bytes / u64::from(line_bytes)) as u32,
            hit: dram.row_hit.0,
            miss: dram.row_miss.0,
            transfer: (f64::from(line_bytes) * 256.0 / dram.bytes_per_cycle).ceil() as u64,
            window: if dram.queue == 0 { UNBOUNDED_WINDOW } else { dram.queue as usize },
        }
    }

    /// The message of the event by which a controller looks for work.
    pub(super) fn kick_flight(number: u32) -> Flight {
        Flight {
            stage: Stage::Kick,
            what: What::Read,
            line: 0,
            from: Unit::Controller(number),
            to: Unit::Controller(number),
            placed: false,
            next: NONE,
            since: 0,
            parts: Default::default(),
            version: 0,
            mark: Default::default(),
        }
    }

    /// The bank of a row of this controller's memory, and its number there. The number's digits are folded into the bank,
    /// so that ranges a power of two apart do not all meet in one bank (permutation-based interleaving: Zhang, Zhu and
    /// Zhang, MICRO 2000).
    fn place(&self, row: u32) -> (u32, u32) {
        let mut bank = row % self.banks;
        let mut rest = row / self.banks;
        while rest != 0 && self.banks != 1 {
            bank += rest % self.banks;
            rest /= self.banks;
        }
        (bank % self.banks, row / self.banks)
    }

    /// What comes first among the requests that can be chosen: one whose row is open (first-ready), else the opening of a
    /// row for one whose bank nobody needs as it is, each in order of arrival.
    fn choose(&mut self, number: usize, now: u64) -> Work {
        let Controller { banks, waiting, bus_free_at, look, .. } = &mut self.all[number];
        *look += 1;
        // No sooner than its line can be moved when it has been read: who is next on the bus is chosen late.
        let bus = (*bus_free_at / 256).saturating_sub(self.hit);
        let mut until = u64::MAX;
        for (at, request) in waiting.iter().take(self.window).enumerate() {
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
        for (at, request) in waiting.iter().take(self.window).enumerate() {
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
}

impl<S: CoreSet> Coherent<S> {
    /// A read or a write has come to its controller.
    pub(super) fn controller_takes(&mut self, id: u32, number: u32, now: u64) {
        let (_, key) = self.plan.controller(self.flights[id].line);
        let row = key / self.memories.lines_a_row;
        let (bank, row) = self.memories.place(row);
        self.flights[id].stage = Stage::Wait;
        let request = Request { flight: id, bank, row, opened: false };
        self.memories.all[number as usize].waiting.push_back(request);
        self.controller_looks(number, now);
    }

    /// Begins what can begin, and arranges to look again when more can.
    pub(super) fn controller_looks(&mut self, number: u32, now: u64) {
        let n = number as usize;
        let until = loop {
            let work = self.memories.choose(n, now);
            let (hit, miss, transfer) = (self.memories.hit, self.memories.miss, self.memories.transfer);
            let controller = &mut self.memories.all[n];
            match work {
                Work::Until(at) => break at,
                Work::Open(at) => {
                    let request = &mut controller.waiting[at];
                    request.opened = true;
                    let bank = &mut controller.banks[request.bank as usize];
                    bank.row = request.row + 1;
                    bank.same_at = now + miss.saturating_sub(hit);
                    bank.other_at = bank.same_at;
                }
                Work::Move(at) => {
                    let Some(request) = controller.waiting.remove(at) else {
                        unreachable!("chosen among those that wait")
                    };
                    self.counts.row_hits += u64::from(!request.opened);
                    // The bus, in 1/256 of a cycle, so that a fraction of a cycle a line counts.
                    let begin = controller.bus_free_at.max((now + hit) * 256);
                    controller.bus_free_at = begin + transfer;
                    let moved = (begin + transfer).div_ceil(256);
                    let bank = &mut controller.banks[request.bank as usize];
                    (bank.same_at, bank.other_at) = (now + transfer / 256, moved);
                    self.flights[request.flight].stage = Stage::Moved;
                    self.events.put(request.flight, moved, Rank::Next);
                }
            }
        };
        self.kick(n, until);
    }

    fn kick(&mut self, n: usize, at: u64) {
        let controller = &mut self.memories.all[n];
        if at != controller.kicks_at {
            if controller.kicks_at != u64::MAX {
                self.events.cancel(controller.kick);
            }
            controller.kicks_at = at;
            if at != u64::MAX {
                self.events.put(controller.kick, at, Rank::Next);
            }
        }
    }

    /// A controller's own event.
    pub(super) fn kicked(&mut self, number: u32, now: u64) {
        self.memories.all[number as usize].kicks_at = u64::MAX;
        self.controller_looks(number, now);
    }

    /// Memory has moved a line: a read is answered, a write is done with.
    pub(super) fn moved(&mut self, id: u32, number: u32, now: u64) {
        let mut flight = self.flights.take(id);
        if flight.what == What::Write {
            self.counts.memory_writes += 1;
            return;
        }
        self.counts.memory_reads += 1;
        flight.charge(Part::Memory, now);
        let answer =
            Flight { stage: Stage::Send, what: What::Line, from: Unit::Controller(number), to: flight.from, ..flight };
        self.post(answer, now);
    }
}
