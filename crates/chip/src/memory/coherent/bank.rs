//! The shared level: a bank at each home, inclusive or not; without one, data comes from memory and goes to memory.

use super::Coherent;
use super::message::{Flight, NONE, Stage, Unit, What};
use baton_coherence::CoreSet;

/// Whether an inclusive bank has a place for a line.
pub(super) enum Room {
    /// It is there.
    Here,
    /// Another line must leave first, and will.
    Later,
}

/// What a bank keeps with a line.
const CLEAN: u8 = 1;
const DIRTY: u8 = 2;
/// A place is kept for it; its data is not here yet.
const EMPTY: u8 = 0;

impl<S: CoreSet> Coherent<S> {
    /// Whether a home's bank has the data of a line.
    #[inline]
    pub(super) fn bank_has(&self, home: u32, line: u32) -> bool {
        let key = self.plan.home(line).1;
        self.bank.as_ref().is_some_and(|bank| bank.find(home, key, line).is_some_and(|way| bank.state[way] != EMPTY))
    }

    /// Data goes into the bank, or, without one, to memory.
    pub(super) fn bank_fill(&mut self, home: u32, line: u32, dirty: bool, now: u64) {
        let key = self.plan.home(line).1;
        let Some(bank) = &mut self.bank else {
            if dirty {
                self.write_to_memory(home, line, now);
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
            self.write_to_memory(home, victim, now);
        }
    }

    /// A line leaves the bank.
    pub(super) fn bank_drop(&mut self, home: u32, line: u32, now: u64) {
        let key = self.plan.home(line).1;
        let Some(bank) = &mut self.bank else { return };
        let Some(way) = bank.find(home, key, line) else { return };
        let dirty = bank.state[way] == DIRTY;
        bank.clear(way);
        if dirty {
            self.write_to_memory(home, line, now);
        }
    }

    /// An inclusive bank: makes a place for the line of an entry.
    pub(super) fn bank_room(&mut self, entry: usize, home: u32, now: u64) -> Room {
        let line = self.entries[entry].line;
        let key = self.plan.home(line).1;
        let Some(bank) = &self.bank else { return Room::Here };
        if let Some(way) = bank.find(home, key, line) {
            if let Some(bank) = &mut self.bank {
                bank.touch(way);
            }
            return Room::Here;
        }
        // Whoever asked for the same line before has a victim on its way out already.
        let asked = self.homes[home as usize].parked.iter().any(|&(id, _)| self.flights[id].line == line);
        if asked {
            return Room::Later;
        }
        let state = |way: usize| {
            let at = self.entry_of[bank.line(way) as usize];
            at.checked_sub(1).map(|at| &self.entries[at as usize])
        };
        // A line that no core has goes at once; one that some have must be recalled.
        let nowhere = |way: usize| state(way).is_none_or(|entry| entry.is_nowhere() && entry.may_leave());
        let may = |way: usize| state(way).is_none_or(super::homes::Entry::may_leave);
        let place = bank.place(home, key, nowhere).or_else(|| bank.place(home, key, may));
        let Some(way) = place else { return Room::Later };
        if !bank.is_free(way) {
            let victim = bank.line(way);
            let victim = self.entry(victim);
            if !self.home_evicts(victim, home, now) {
                return Room::Later;
            }
        }
        if let Some(bank) = &mut self.bank {
            bank.put(way, line);
        }
        Room::Here
    }

    /// A home gives a line to memory.
    fn write_to_memory(&mut self, home: u32, line: u32, now: u64) {
        let to = Unit::Controller(self.plan.controller(line).0);
        let at = now + self.times.directory;
        let write = Flight {
            stage: Stage::Send,
            what: What::Write,
            line,
            from: Unit::Home(home),
            to,
            placed: false,
            next: NONE,
            since: at,
            parts: Default::default(),
            version: 0,
            mark: Default::default(),
        };
        self.post(write, at);
    }
}
