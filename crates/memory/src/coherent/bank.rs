//! The shared level: a bank at each home, inclusive or not. A chip without a shared level reads
//! from memory and writes to memory.

use super::exchange::Exchange;
use super::homes::{Entry, Homes, Visit};
use super::message::{Content, Flight, Unit};
use super::spec::Spec;
use baton_coherence::CoreSet;

/// Whether an inclusive bank has a place for a line.
pub(super) enum Room {
    /// The line has its place.
    Here,
    /// The line can have this way if the line that is there leaves.
    At(usize),
    /// No way is free yet: another line must leave first.
    Later,
}

/// State of a bank's way: the line's data is the same as in memory.
const CLEAN: u8 = 1;
const DIRTY: u8 = 2;
/// State of a bank's way: reserved for a line whose data has not come.
const EMPTY: u8 = 0;

impl<S: CoreSet> Homes<S> {
    /// Whether a home's bank has the data of a line.
    #[inline]
    pub(super) fn bank_has(&self, spec: &Spec, home: u32, line: u32) -> bool {
        let key = spec.map.number_at_home(line);
        self.bank.as_ref().is_some_and(|bank| bank.find(home, key, line).is_some_and(|way| bank.state[way] != EMPTY))
    }

    /// Puts a line's data into the bank of its home. Without a bank, writes dirty data to memory.
    pub(super) fn bank_fill(&mut self, spec: &Spec, exchange: &mut Exchange, line: u32, dirty: bool, visit: Visit) {
        let (key, home) = (spec.map.number_at_home(line), visit.home);
        let Some(bank) = &mut self.bank else {
            if dirty {
                write_to_memory(spec, exchange, line, visit);
            }
            return;
        };
        let state = if dirty { DIRTY } else { CLEAN };
        if let Some(way) = bank.find(home, key, line) {
            bank.state[way] = bank.state[way].max(state);
            bank.touch(way);
            return;
        }
        let Some(way) = bank.place(home, key, |_| true) else { return };
        let (victim, was) = (bank.line(way), bank.state[way]);
        let leaves = !bank.is_free(way);
        bank.put(way, line);
        bank.state[way] = state;
        if leaves && was == DIRTY {
            write_to_memory(spec, exchange, victim, visit);
        }
    }

    /// Drops a line from the bank; dirty data is written to memory.
    pub(super) fn bank_drop(&mut self, spec: &Spec, exchange: &mut Exchange, line: u32, visit: Visit) {
        let key = spec.map.number_at_home(line);
        let Some(bank) = &mut self.bank else { return };
        let Some(way) = bank.find(visit.home, key, line) else { return };
        let dirty = bank.state[way] == DIRTY;
        bank.clear(way);
        if dirty {
            write_to_memory(spec, exchange, line, visit);
        }
    }

    /// Finds where the line of an entry can be in an inclusive bank.
    pub(super) fn bank_room(&mut self, spec: &Spec, exchange: &Exchange, entry: usize, home: u32) -> Room {
        let line = self.entries[entry].line;
        let key = spec.map.number_at_home(line);
        let Some(bank) = &mut self.bank else { return Room::Here };
        if let Some(way) = bank.find(home, key, line) {
            bank.touch(way);
            return Room::Here;
        }
        // An earlier request for the same line already has a victim on its way out.
        if self.all[home as usize].parked.iter().any(|&(id, _)| exchange.flights[id].line == line) {
            return Room::Later;
        }
        let entry = |way: usize| {
            let at = self.entry_of[bank.line(way) as usize];
            at.checked_sub(1).map(|at| &self.entries[at as usize])
        };
        // A line that no core has can leave at once; a line that cores have must be recalled.
        let nowhere = |way: usize| entry(way).is_none_or(|entry| entry.is_nowhere() && entry.may_leave());
        let may = |way: usize| entry(way).is_none_or(Entry::may_leave);
        let place = bank.place(home, key, nowhere).or_else(|| bank.place(home, key, may));
        place.map_or(Room::Later, Room::At)
    }

    /// The line in a way of the bank, if there is one.
    pub(super) fn bank_line(&self, way: usize) -> Option<u32> {
        self.bank.as_ref().filter(|bank| !bank.is_free(way)).map(|bank| bank.line(way))
    }

    /// Reserves a free way of the bank for a line.
    pub(super) fn bank_keep(&mut self, way: usize, line: u32) {
        if let Some(bank) = &mut self.bank {
            bank.put(way, line);
        }
    }
}

/// Writes a line of the home back to memory.
fn write_to_memory(spec: &Spec, exchange: &mut Exchange, line: u32, visit: Visit) {
    let controller = Unit::Controller(spec.map.controller(line, &exchange.pages));
    let at = visit.now + spec.times.directory;
    exchange.post(Flight::leaving(Content::Write, line, Unit::Home(visit.home), controller, at), at);
}
