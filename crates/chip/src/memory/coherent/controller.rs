//! Memory controllers: banks with one open row each, a queue that is searched for row hits first, and a bus of so many
//! bytes a cycle (first-ready first-come-first-served: S. Rixner et al., *Memory Access Scheduling*, ISCA 2000).

use super::Coherent;
use super::message::{Flight, NONE, Stage, Unit, What};
use crate::config::coherent::Dram;
use crate::engine::queue::Rank;
use crate::memory::border::Part;
use baton_coherence::CoreSet;
use std::collections::VecDeque;

/// A bank: its open row plus one, and from when on it can begin another access.
#[derive(Clone, Copy, Default)]
struct Bank {
    row: u32,
    free_at: u64,
}

/// One controller.
pub(super) struct Controller {
    banks: Vec<Bank>,
    /// Requests in order of arrival; the first `window` of them can be chosen.
    waiting: VecDeque<Request>,
    bus_free_at: u64,
    /// The event by which it looks for work again.
    kick: u32,
    kicks_at: u64,
}

#[derive(Clone, Copy)]
struct Request {
    flight: u32,
    bank: u32,
    row: u32,
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

    /// The first request among those that can be chosen that hits an open row of a bank that is free at `now`, else the
    /// first whose bank is free.
    fn choose(&self, number: usize, now: u64) -> Option<usize> {
        let controller = &self.all[number];
        let window = controller.waiting.iter().take(self.window).enumerate();
        let mut first = None;
        for (at, request) in window {
            let bank = &controller.banks[request.bank as usize];
            if bank.free_at <= now {
                if bank.row == request.row + 1 {
                    return Some(at);
                }
                first = first.or(Some(at));
            }
        }
        first
    }
}

impl<S: CoreSet> Coherent<S> {
    /// A read or a write has come to its controller.
    pub(super) fn controller_takes(&mut self, id: u32, number: u32, now: u64) {
        let (_, key) = self.plan.controller(self.flights[id].line);
        let row = key / self.memories.lines_a_row;
        let (bank, row) = (row % self.memories.banks, row / self.memories.banks);
        self.flights[id].stage = Stage::Wait;
        self.memories.all[number as usize].waiting.push_back(Request { flight: id, bank, row });
        self.controller_looks(number, now);
    }

    /// Begins what can begin, and arranges to look again when a bank is free.
    pub(super) fn controller_looks(&mut self, number: u32, now: u64) {
        let n = number as usize;
        while let Some(at) = self.memories.choose(n, now) {
            let (hit, miss, transfer) = (self.memories.hit, self.memories.miss, self.memories.transfer);
            let controller = &mut self.memories.all[n];
            let Some(request) = controller.waiting.remove(at) else { break };
            let bank = &mut controller.banks[request.bank as usize];
            let open = bank.row == request.row + 1;
            self.counts.row_hits += u64::from(open);
            let ready = now + if open { hit } else { miss };
            bank.row = request.row + 1;
            // The bus, in 1/256 of a cycle, so that a fraction of a cycle a line counts.
            let begin = controller.bus_free_at.max(ready * 256);
            controller.bus_free_at = begin + transfer;
            let moved = (begin + transfer).div_ceil(256);
            bank.free_at = moved;
            self.flights[request.flight].stage = Stage::Moved;
            self.events.put(request.flight, moved, Rank::Next);
        }
        self.kick(n);
    }

    fn kick(&mut self, n: usize) {
        let controller = &mut self.memories.all[n];
        let window = controller.waiting.iter().take(self.memories.window);
        let at = window.map(|request| controller.banks[request.bank as usize].free_at).min().unwrap_or(u64::MAX);
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
