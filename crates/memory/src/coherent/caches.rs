//! The private caches of all cores: where lines are, and how the caches change when an access is
//! performed or a line comes.
//!
//! A core's private levels are one coherence agent. The outer level (the second level where there
//! is one) holds a protocol state with every line; the first level holds copies of some of these
//! lines.

use super::array::Array;
use super::core_times::CoreTimes;
use super::exchange::Exchange;
use super::message::NONE;
use super::private::{Core, Slab, Slot, Waiter};
use crate::base::token::Token;
use crate::border::{Line, Notice};
use baton_coherence::CoreSet;
use baton_coherence::cache::{Event, State, Transaction};
use baton_units::CoreId;

/// The private caches of all cores.
#[derive(Clone)]
pub(super) struct Caches<S> {
    /// The first levels, if the chip has a second level.
    pub(super) l1: Option<Array>,
    /// The outer private level.
    pub(super) outer: Array,
    pub(super) cores: Vec<Core>,
    pub(super) slots: Slab<Slot<S>>,
    pub(super) waiters: Slab<Waiter>,
    /// The latencies of each core at its present clock.
    pub(super) times: Box<[CoreTimes]>,
}

/// A line at a core, before and after a step.
#[derive(Clone, Copy)]
pub(super) struct LineAtCore<S> {
    pub(super) core: u32,
    pub(super) line: u32,
    pub(super) state: State,
    /// The line's way in the outer level.
    pub(super) way: Option<usize>,
    /// The slot of the line's transaction, if one is under way.
    pub(super) slot: Option<u32>,
    pub(super) transaction: Transaction<S>,
}

/// Where a line is in a core's private caches.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) state: State,
    /// The line's way in the outer level.
    pub(super) way: Option<usize>,
    /// The line's transaction.
    pub(super) slot: Option<u32>,
}

impl<S: CoreSet> Caches<S> {
    /// Where `line` is at `core`.
    #[inline(always)]
    pub(super) fn find(&self, core: u32, line: u32) -> Found {
        if let Some(way) = self.outer.find(core, line, line) {
            let slot = self.outer.slot[way];
            let state = State::ALL[usize::from(self.outer.state[way])];
            return Found { state, way: Some(way), slot: slot.checked_sub(1) };
        }
        for &slot in &self.cores[core as usize].without_way {
            if self.slots[slot].line == line {
                return Found { state: self.slots[slot].state, way: None, slot: Some(slot) };
            }
        }
        Found { state: State::I, way: None, slot: None }
    }

    /// Whether the line is in the first of two private levels; always true on a chip with only one.
    #[inline]
    pub(super) fn is_near(&self, core: u32, line: u32) -> bool {
        self.l1.as_ref().is_none_or(|l1| l1.find(core, line, line).is_some())
    }

    /// The transaction in a slot; without a slot, none.
    #[inline(always)]
    pub(super) fn transaction(&self, slot: Option<u32>) -> Transaction<S> {
        slot.map_or_else(Transaction::default, |slot| self.slots[slot].transaction)
    }

    /// Notes that an access was performed on a copy. A write pins the line until the write is over
    /// at `at`, so that no forward takes the line before.
    pub(super) fn performed(
        &mut self,
        exchange: &mut Exchange,
        (core, line, way): (u32, u32, usize),
        event: Event,
        at: u64,
        now: u64,
    ) {
        let golden = &mut exchange.golden;
        if matches!(event, Event::Load | Event::LoadLinked) {
            golden.read(line, golden.copy(way));
        } else {
            golden.write(line, way);
            let core = &mut self.cores[core as usize];
            core.unlink(line);
            core.pins.retain(|&(_, until)| until > now);
            core.pins.push((line, at));
        }
    }

    /// Copies a line into the first level; the line that makes room for it leaves the first level.
    pub(super) fn fill_l1(&mut self, core: u32, line: u32, notices: &mut Vec<Notice>) {
        let Some(l1) = &mut self.l1 else { return };
        if l1.find(core, line, line).is_some() {
            return;
        }
        let Some(way) = l1.place(core, line, |_| true) else { return };
        if !l1.is_free(way) {
            notices.push(Notice::Lost { core: CoreId(core), line: Line(l1.line(way)) });
        }
        l1.put(way, line);
    }

    /// Returns a way of the line's set that is free, or whose line may leave.
    pub(super) fn room(&self, core: u32, line: u32, now: u64) -> Option<usize> {
        let here = &self.cores[core as usize];
        self.outer.place(core, line, |way| self.outer.slot[way] == 0 && !here.pinned(self.outer.line(way), now))
    }

    /// Begins a transaction, and returns its slot. `counted` says that the transaction takes an
    /// MSHR; write-backs have a buffer of their own.
    pub(super) fn open(&mut self, core: u32, line: u32, way: Option<usize>, counted: bool) -> u32 {
        let slot = self.slots.put(Slot::new(line, way, counted));
        self.cores[core as usize].used += u32::from(counted);
        match way {
            Some(way) => self.outer.slot[way] = slot + 1,
            None => self.cores[core as usize].without_way.push(slot),
        }
        slot
    }

    /// Lets the access wait for the transaction of its line.
    pub(super) fn wait_behind(&mut self, slot: u32, waiter: u32) {
        let tail = std::mem::replace(&mut self.slots[slot].last, waiter);
        if tail == NONE {
            self.slots[slot].waiting = waiter;
        } else {
            self.waiters[tail].next = waiter;
        }
    }

    /// The token of the access that began the transaction of the line at `core`, if that access is
    /// not served.
    pub(super) fn token(&self, core: CoreId, line: u32) -> Option<Token> {
        let slot = self.find(core.0, line).slot?;
        let first = self.slots[slot].first;
        (first != NONE).then(|| self.waiters[first].request.token)
    }
}
