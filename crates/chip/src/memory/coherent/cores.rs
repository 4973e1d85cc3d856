//! The cores' side: private caches, misses under way, what the core asks and what messages do. All of what a cache does to
//! a line is a row of `baton-coherence`; here is where the line is, how long it takes and who waits.
//!
//! A core's private levels are one coherence agent. The outer one (the second level where there is one) holds a protocol
//! state with every line; the first level holds copies of some of these lines.

use super::Coherent;
use super::effects::CacheEffects;
use super::message::{NONE, Stage};
use super::private::{Slot, Waiter};
use crate::config::coherent::Atomics;
use crate::engine::queue::Rank;
use crate::memory::border::{Access, Answer, Notice, Part, Parts, Request, Served};
use baton_coherence::cache::{self, Access as Presented, Event, State, Transaction};
use baton_coherence::{Class, CoreSet, Kind, Message};
use baton_units::{CoreId, Cycles};

/// Where a line is in a core's private caches.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) state: State,
    /// Its way in the outer level.
    pub(super) way: Option<usize>,
    /// Its transaction.
    pub(super) slot: Option<u32>,
}

/// What became of an access.
pub(super) enum Begun {
    Served(Served, Parts),
    Pending,
    /// No MSHR or no way is free; nothing has happened.
    Blocked,
}

impl<S: CoreSet> Coherent<S> {
    /// Where `line` is at `core`.
    #[inline]
    pub(super) fn find(&self, core: u32, line: u32) -> Found {
        if let Some(way) = self.outer.find(core, line, line) {
            let slot = self.outer.slot[way];
            let state = State::ALL[usize::from(self.outer.state[way])];
            return Found { state, way: Some(way), slot: slot.checked_sub(1) };
        }
        for &slot in &self.cores[core as usize].beside {
            if self.slots[slot].line == line {
                return Found { state: self.slots[slot].state, way: None, slot: Some(slot) };
            }
        }
        Found { state: State::I, way: None, slot: None }
    }

    pub(super) fn event(&self, access: Access) -> Event {
        match access {
            Access::Load => Event::Load,
            Access::Store => Event::Store,
            Access::Atomic if self.atomics == Atomics::Far => Event::FarAtomic,
            Access::Atomic => Event::Store,
            Access::LoadLinked(_) => Event::LoadLinked,
            Access::StoreConditional(_) => Event::StoreConditional,
            Access::Prefetch => Event::PrefetchS,
            Access::PrefetchExclusive => Event::PrefetchM,
            Access::Push { to: None } => Event::PushHome,
            Access::Push { to: Some(_) } => Event::PushTo,
        }
    }

    /// A core asks.
    #[inline]
    pub(super) fn ask(&mut self, request: Request, now: u64) -> Answer {
        match self.begin(request, now, now, false) {
            Begun::Served(served, _) => Answer::Served(served),
            Begun::Pending => Answer::Pending,
            Begun::Blocked => {
                let waiter = self.waiters.put(Waiter { request, issued: now, next: NONE });
                self.cores[request.core.0 as usize].blocked.push_back(waiter);
                Answer::Pending
            }
        }
    }

    /// Presents an access that was made at `issued`; `again`: it was blocked and is first in line.
    fn begin(&mut self, request: Request, issued: u64, now: u64, again: bool) -> Begun {
        let (core, line) = (request.core.0, request.line.0);
        let event = self.event(request.access);
        let hint = matches!(event, Event::PrefetchS | Event::PrefetchM | Event::PushHome | Event::PushTo);
        let context = request.access.context();
        let linked = self.cores[core as usize].links[context] == line + 1;
        let mut parts = Parts::default();
        parts.add(Part::L1, now - issued + self.own[core as usize].l1);
        if event == Event::StoreConditional {
            self.cores[core as usize].failed[context] = !linked;
        }
        if event == Event::StoreConditional && !linked {
            return served(now + self.own[core as usize].l1, true, true, parts);
        }
        let found = self.find(core, line);
        let near = match &self.l1 {
            None => true,
            Some(l1) => l1.find(core, line, line).is_some(),
        };
        let mut lookup = self.own[core as usize].l1;
        if !near {
            lookup += self.own[core as usize].l2;
            parts.add(Part::L2, self.own[core as usize].l2);
        }
        let row = match self.protocol.cache.row(found.state, event) {
            Ok(row) => *row,
            Err(hole) => panic!("line {line} at core {core}: {hole}"),
        };
        if row.then == baton_coherence::Then::Wait {
            let waiter = self.waiters.put(Waiter { request, issued, next: NONE });
            if let Some(slot) = found.slot {
                self.wait_behind(slot, waiter);
            }
            return Begun::Pending;
        }
        let writes = matches!(event, Event::Store | Event::StoreConditional);
        if writes && found.state.is_stable() && self.cores[core as usize].awaited.contains(&line) {
            // A forward waits here for a sibling's write: another one would have it wait for ever.
            return Begun::Blocked;
        }
        let (mut way, mut slot) = (found.way, found.slot);
        let starts = found.state.is_stable() && !row.next.is_stable();
        if starts {
            let own = &self.cores[core as usize];
            let full = own.used >= self.mshrs || (!again && !own.blocked.is_empty());
            let room = way.is_some() || event == Event::FarAtomic;
            let place = if full || room { None } else { self.reserve(core, line, now) };
            if full || (!room && place.is_none()) {
                return if hint {
                    served(now + self.own[core as usize].l1, true, false, parts)
                } else {
                    Begun::Blocked
                };
            }
            way = way.or(place);
            slot = Some(self.open(core, line, way, true));
            self.plan.touch(line, core);
            self.counts.note_miss(core, event, found.state);
        }
        let mut state = found.state;
        let mut transaction = slot.map_or_else(Transaction::default, |slot| self.slots[slot].transaction);
        let to = match request.access {
            Access::Push { to: Some(to) } => to,
            _ => request.core,
        };
        let table = &self.protocol.cache;
        let mut effects = CacheEffects {
            delay: lookup,
            parts,
            mark: request.mark,
            ..CacheEffects::at(self, (core, line), (way, slot), now)
        };
        let step =
            cache::step(table, request.core, &mut state, &mut transaction, Presented { event, to }, &mut effects);
        let (hit, failed) = (effects.hit, effects.failed);
        if let Err(hole) = step {
            panic!("line {line} at core {core}: {hole}");
        }
        if starts && !hint {
            let waiter = self.waiters.put(Waiter { request, issued, next: NONE });
            if let Some(slot) = slot {
                self.slots[slot].first = waiter;
            }
        }
        self.settle(core, line, way, slot, state, transaction, now);
        if hint {
            return served(now + self.own[core as usize].l1, true, false, parts);
        }
        if !hit && !failed {
            return Begun::Pending;
        }
        let mut at = now + lookup;
        if self.siblings
            && (writes || event == Event::LoadLinked)
            && let Some(until) = self.cores[core as usize].pinned_until(line, now)
        {
            // A sibling's write has its value first, though this one found the line nearer.
            let waits = (until + 1).saturating_sub(at);
            parts.add(Part::L1, waits);
            at += waits;
        }
        if request.access == Access::Atomic {
            at += self.own[core as usize].atomic;
            parts.add(Part::Atomic, self.own[core as usize].atomic);
        }
        if event == Event::LoadLinked {
            self.cores[core as usize].links[context] = line + 1;
        }
        if let Some(way) = way.filter(|_| hit) {
            self.performed(core, line, way, event, at, now);
            if !near {
                self.counts.cores[core as usize].l2_hits += 1;
                self.fill_l1(core, line);
            } else {
                self.counts.cores[core as usize].hits += 1;
                if let (Some(l1), true) = (&mut self.l1, near)
                    && let Some(here) = l1.find(core, line, line)
                {
                    l1.touch(here);
                }
            }
            self.outer.touch(way);
        }
        served(at, near, failed, parts)
    }

    /// An access was performed on a copy here: no forward takes the line before a write is over.
    pub(super) fn performed(&mut self, core: u32, line: u32, way: usize, event: Event, at: u64, now: u64) {
        if matches!(event, Event::Load | Event::LoadLinked) {
            self.golden.read(line, self.golden.copy(way));
        } else {
            self.golden.write(line, way);
            let own = &mut self.cores[core as usize];
            own.unlink(line);
            own.pins.retain(|&(_, until)| until > now);
            own.pins.push((line, at));
        }
    }

    /// The access waits for the transaction of its line.
    fn wait_behind(&mut self, slot: u32, waiter: u32) {
        let tail = std::mem::replace(&mut self.slots[slot].last, waiter);
        if tail == NONE {
            self.slots[slot].waiting = waiter;
        } else {
            self.waiters[tail].next = waiter;
        }
    }

    /// A way for a line that is not here. What is there is evicted; `None`: every way of the set is in use.
    fn reserve(&mut self, core: u32, line: u32, now: u64) -> Option<usize> {
        let way = self.room(core, line, now)?;
        if !self.outer.is_free(way) {
            self.evict(core, way, now);
        }
        self.outer.put(way, line);
        Some(way)
    }

    /// A way that is free or whose line may go.
    fn room(&self, core: u32, line: u32, now: u64) -> Option<usize> {
        let own = &self.cores[core as usize];
        self.outer.place(core, line, |way| self.outer.slot[way] == 0 && !own.pinned(self.outer.line(way), now))
    }

    fn evict(&mut self, core: u32, way: usize, now: u64) {
        let line = self.outer.line(way);
        let mut state = State::ALL[usize::from(self.outer.state[way])];
        let slot = self.open(core, line, Some(way), false);
        let mut transaction = Transaction::default();
        let table = &self.protocol.cache;
        let presented = Presented { event: Event::Evict, to: CoreId(core) };
        let mut effects = CacheEffects::at(self, (core, line), (Some(way), Some(slot)), now);
        if let Err(hole) = cache::step(table, CoreId(core), &mut state, &mut transaction, presented, &mut effects) {
            panic!("line {line} at core {core}: {hole}");
        }
        self.counts.evictions += 1;
        self.settle(core, line, Some(way), Some(slot), state, transaction, now);
    }

    /// A transaction begins. `counted`: it takes an MSHR; write-backs have a buffer of their own.
    fn open(&mut self, core: u32, line: u32, way: Option<usize>, counted: bool) -> u32 {
        let slot = self.slots.put(Slot::new(line, way, counted));
        self.cores[core as usize].used += u32::from(counted);
        match way {
            Some(way) => self.outer.slot[way] = slot + 1,
            None => self.cores[core as usize].beside.push(slot),
        }
        slot
    }

    /// A protocol message has come to a core.
    pub(super) fn core_takes(&mut self, id: u32, core: u32, message: Message, now: u64) {
        let line = self.flights[id].line;
        if message.kind.class() == Class::Forward
            && let Some(until) = self.cores[core as usize].pinned_until(line, now)
        {
            // A write here is not over yet.
            self.cores[core as usize].awaited.push(line);
            self.flights[id].charge(Part::Remote, now);
            self.flights[id].stage = Stage::Deliver;
            self.events.put(id, until, Rank::Next);
            return;
        }
        let own = &mut self.cores[core as usize];
        let waited = (message.kind.class() == Class::Forward)
            .then(|| own.awaited.iter().position(|&awaited| awaited == line).map(|at| own.awaited.swap_remove(at)))
            .flatten();
        let flight = self.flights.take(id);
        let found = self.find(core, line);
        let (mut way, slot) = (found.way, found.slot);
        let offer = matches!(message.kind, Kind::OfferS | Kind::OfferE);
        let mut room = false;
        if offer && way.is_none() && slot.is_none() {
            way = self.reserve(core, line, now);
            room = way.is_some();
        }
        let deferred = message.kind.class() != Class::Forward;
        self.counts.note_message(core, message.kind);
        let mut state = found.state;
        let mut transaction = slot.map_or_else(Transaction::default, |slot| self.slots[slot].transaction);
        let table = &self.protocol.cache;
        let mut effects = CacheEffects {
            parts: flight.parts,
            charged: false,
            deferred,
            version: flight.version,
            // What answers a forward that came before serves another request, whose mark is not kept.
            mark: if deferred { Default::default() } else { flight.mark },
            ..CacheEffects::at(self, (core, line), (way, slot), now)
        };
        let step = cache::deliver(table, CoreId(core), &mut state, &mut transaction, &message, room, &mut effects);
        if let Err(hole) = step {
            panic!("line {line} at core {core}: {hole}");
        }
        self.settle(core, line, way, slot, state, transaction, now);
        if waited.is_some() && !self.cores[core as usize].blocked.is_empty() {
            self.retry(core, now);
        }
    }

    /// Puts a line's state where it belongs after a step, and lets go on whoever waited for the end of its transaction.
    #[expect(clippy::too_many_arguments, reason = "a line, where it is, and what became of it")]
    fn settle(
        &mut self,
        core: u32,
        line: u32,
        way: Option<usize>,
        slot: Option<u32>,
        state: State,
        transaction: Transaction<S>,
        now: u64,
    ) {
        if state.is_stable() {
            if let Some(way) = way {
                self.outer.slot[way] = 0;
                self.outer.state[way] = state as u8;
                if state == State::I {
                    self.outer.clear(way);
                }
            }
            if let Some(slot) = slot {
                self.close(core, slot, way.is_none(), now);
            } else if state == State::I && !self.cores[core as usize].blocked.is_empty() {
                self.retry(core, now);
            }
            return;
        }
        let Some(slot) = slot else { unreachable!("line {line} at core {core} is in state {state} without a slot") };
        let gives_up = matches!(state, State::MiA | State::EiA | State::OiA | State::SiA | State::IiA);
        let kept = &mut self.slots[slot];
        (kept.state, kept.transaction) = (state, transaction);
        match way {
            Some(way) if gives_up => {
                kept.version = self.golden.copy(way);
                kept.way = None;
                self.outer.clear(way);
                self.cores[core as usize].beside.push(slot);
            }
            Some(way) => self.outer.state[way] = state as u8,
            None => {}
        }
    }

    /// A transaction is over.
    fn close(&mut self, core: u32, slot: u32, beside: bool, now: u64) {
        let closed = self.slots.take(slot);
        let own = &mut self.cores[core as usize];
        own.used -= u32::from(closed.counted);
        if beside {
            own.beside.retain(|&other| other != slot);
        }
        debug_assert_eq!(closed.first, NONE, "an access whose transaction is over was not performed");
        let mut next = closed.waiting;
        while next != NONE {
            let waiter = self.waiters.take(next);
            next = waiter.next;
            self.present_again(waiter, now, false);
        }
        self.retry(core, now);
    }

    /// Presents what was blocked for want of an MSHR or a way.
    fn retry(&mut self, core: u32, now: u64) {
        while let Some(&front) = self.cores[core as usize].blocked.front() {
            self.cores[core as usize].blocked.pop_front();
            let waiter = self.waiters.take(front);
            if !self.present_again(waiter, now, true) {
                break;
            }
        }
    }

    /// Whether it went on.
    fn present_again(&mut self, waiter: Waiter, now: u64, first: bool) -> bool {
        let Waiter { request, issued, .. } = waiter;
        match self.begin(request, issued, now, first) {
            Begun::Served(answer, parts) => {
                let Served { at, failed, .. } = answer;
                self.out.push(Notice::Done { token: request.token, at: at.0, parts, failed });
                (self.outstanding, self.progress) = (self.outstanding - 1, now);
                true
            }
            Begun::Pending => true,
            Begun::Blocked => {
                let waiter = self.waiters.put(Waiter { next: NONE, ..waiter });
                let blocked = &mut self.cores[request.core.0 as usize].blocked;
                if first {
                    blocked.push_front(waiter)
                } else {
                    blocked.push_back(waiter)
                }
                false
            }
        }
    }

    /// The first level gets a copy; the line that makes room for it is no longer the nearest.
    pub(super) fn fill_l1(&mut self, core: u32, line: u32) {
        let Some(l1) = &mut self.l1 else { return };
        if l1.find(core, line, line).is_some() {
            return;
        }
        let Some(way) = l1.place(core, line, |_| true) else { return };
        if !l1.is_free(way) {
            let line = crate::memory::Line(l1.line(way));
            self.out.push(Notice::Lost { core: CoreId(core), line });
        }
        l1.put(way, line);
    }
}

fn served(at: u64, hit: bool, failed: bool, parts: Parts) -> Begun {
    Begun::Served(Served { at: Cycles(at), hit, beyond: Part::L2, failed, invalidates: false }, parts)
}
