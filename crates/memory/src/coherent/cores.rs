//! The steps of a core's private caches: an access is presented, or a message comes. The rows of
//! `baton-coherence` say what a cache does to a line; this file says where the line is, how long a
//! step takes and which accesses wait.

use super::caches::{Caches, LineAtCore};
use super::effects::CacheEffects;
use super::exchange::Exchange;
use super::message::{NONE, Stage};
use super::private::Waiter;
use super::spec::Spec;
use crate::border::{Access, Answer, Request, Served};
use crate::parts::{Part, Parts};
use baton_coherence::cache::{self, Access as Presented, Event, State, Transaction};
use baton_coherence::{Class, CoreSet, Kind, Message, Then};
use baton_units::{CoreId, Cycles};

/// An access that is presented to a core's caches.
#[derive(Clone, Copy)]
struct Attempt {
    request: Request,
    /// The time at which the core asked.
    issued: u64,
    /// Whether the access was blocked and is first in line.
    again: bool,
}

/// The result of presenting an access.
enum Begun {
    Served(Served, Parts),
    Pending,
    /// No MSHR or way is free, or an earlier access or a forward must go first; the access has
    /// changed nothing.
    Blocked,
}

/// What the lookup of an access has shown.
#[derive(Clone, Copy)]
struct Lookup {
    event: Event,
    /// Whether the nearest cache has the line.
    near: bool,
    /// The time that the lookup took.
    took: u64,
    /// The parts of the access's time up to now, the lookup included.
    parts: Parts,
}

impl<S: CoreSet> Caches<S> {
    /// A core asks.
    #[inline]
    pub(super) fn ask(&mut self, spec: &Spec, exchange: &mut Exchange, request: Request, now: u64) -> Answer {
        match self.begin(spec, exchange, &Attempt { request, issued: now, again: false }, now) {
            Begun::Served(served, _) => Answer::Served(served),
            Begun::Pending => Answer::Pending,
            Begun::Blocked => {
                let waiter = self.waiters.put(Waiter { request, issued: now, next: NONE });
                self.cores[request.core.0 as usize].blocked.push_back(waiter);
                Answer::Pending
            }
        }
    }

    /// Presents an access.
    fn begin(&mut self, spec: &Spec, exchange: &mut Exchange, attempt: &Attempt, now: u64) -> Begun {
        let Attempt { request, issued, .. } = *attempt;
        let (core, line) = (request.core.0, request.line.0);
        let times = self.times[core as usize];
        let event = spec.event(request.access);
        let mut parts = Parts::default();
        parts.add(Part::L1, now - issued + times.l1);
        if event == Event::StoreConditional && self.link_is_broken(core, line, request.access.context()) {
            return served(now + times.l1, true, true, parts);
        }
        let found = self.find(core, line);
        let near = self.is_near(core, line);
        let mut took = times.l1;
        if !near {
            took += times.l2;
            parts.add(Part::L2, times.l2);
        }
        let row = match spec.protocol.cache.row(found.state, event) {
            Ok(row) => *row,
            Err(hole) => panic!("line {line} at core {core}: {hole}"),
        };
        if row.then == Then::Wait {
            let waiter = self.waiters.put(Waiter { request, issued, next: NONE });
            if let Some(slot) = found.slot {
                self.wait_behind(slot, waiter);
            }
            return Begun::Pending;
        }
        if is_write(event) && found.state.is_stable() && self.cores[core as usize].awaited.contains(&line) {
            // A forward waits at this core until a sibling's write to the line is over. If further
            // writes could begin now, the forward might wait for ever.
            return Begun::Blocked;
        }
        let (state, transaction) = (found.state, Transaction::default());
        let mut here = LineAtCore { core, line, state, way: found.way, slot: found.slot, transaction };
        let starts = state.is_stable() && !row.next.is_stable();
        if starts && !self.start(spec, exchange, &mut here, event, attempt.again, now) {
            return if is_hint(event) { served(now + times.l1, true, false, parts) } else { Begun::Blocked };
        }
        here.transaction = self.transaction(here.slot);
        let to = match request.access {
            Access::Push { to: Some(to) } => to,
            _ => request.core,
        };
        let mut effects = CacheEffects {
            delay: took,
            parts,
            mark: request.mark,
            ..CacheEffects::on(&here, spec, self, exchange, now)
        };
        let (table, presented) = (&spec.protocol.cache, Presented { event, to });
        let step = cache::step(table, request.core, &mut here.state, &mut here.transaction, presented, &mut effects);
        let hit = effects.hit;
        if let Err(hole) = step {
            panic!("line {line} at core {core}: {hole}");
        }
        if starts && !is_hint(event) {
            let waiter = self.waiters.put(Waiter { request, issued, next: NONE });
            if let Some(slot) = here.slot {
                self.slots[slot].first = waiter;
            }
        }
        self.settle(spec, exchange, &here, now);
        if is_hint(event) {
            return served(now + times.l1, true, false, parts);
        }
        if !hit {
            return Begun::Pending;
        }
        self.hits(spec, exchange, request, here.way, Lookup { event, near, took, parts }, now)
    }

    /// Whether the link of a context, which a store-conditional to `line` needs, is broken; the
    /// result is kept for the context.
    #[inline(always)]
    fn link_is_broken(&mut self, core: u32, line: u32, context: usize) -> bool {
        let core = &mut self.cores[core as usize];
        core.failed[context] = core.links[context] != line + 1;
        core.failed[context]
    }

    /// Opens the transaction that an access begins, with a way for its line if the line has none
    /// and needs one. Returns whether there was room for both.
    #[inline(always)]
    fn start(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        here: &mut LineAtCore<S>,
        event: Event,
        again: bool,
        now: u64,
    ) -> bool {
        let (core, line) = (here.core, here.line);
        let own = &self.cores[core as usize];
        if own.used >= spec.mshrs || (!again && !own.blocked.is_empty()) {
            return false;
        }
        if here.way.is_none() && event != Event::FarAtomic {
            here.way = self.reserve(spec, exchange, core, line, now);
            if here.way.is_none() {
                return false;
            }
        }
        here.slot = Some(self.open(core, line, here.way, true));
        exchange.pages.touch(line, core, &spec.map);
        exchange.counts.note_miss(core, event, here.state);
        true
    }

    /// Performs an access that hits, on the copy in `way`.
    #[inline(always)]
    fn hits(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        request: Request,
        way: Option<usize>,
        lookup: Lookup,
        now: u64,
    ) -> Begun {
        let (core, line) = (request.core.0, request.line.0);
        let Lookup { event, near, took, mut parts } = lookup;
        let mut at = now + took;
        if spec.siblings
            && (is_write(event) || event == Event::LoadLinked)
            && let Some(until) = self.cores[core as usize].pinned_until(line, now)
        {
            // A sibling's write to the line is still going on. This access comes after it, even if
            // its own lookup takes less time.
            let waits = (until + 1).saturating_sub(at);
            parts.add(Part::L1, waits);
            at += waits;
        }
        if request.access == Access::Atomic {
            let atomic = self.times[core as usize].atomic;
            at += atomic;
            parts.add(Part::Atomic, atomic);
        }
        if event == Event::LoadLinked {
            self.cores[core as usize].links[request.access.context()] = line + 1;
        }
        if let Some(way) = way {
            self.performed(exchange, (core, line, way), event, at, now);
            let counts = &mut exchange.counts.cores[core as usize];
            if !near {
                counts.l2_hits += 1;
                self.fill_l1(core, line, &mut exchange.notices);
            } else {
                counts.hits += 1;
                if let Some(l1) = &mut self.l1
                    && let Some(here) = l1.find(core, line, line)
                {
                    l1.touch(here);
                }
            }
            self.outer.touch(way);
        }
        served(at, near, false, parts)
    }

    /// Reserves a way for a line that is not in the core's outer level; the line in that way is
    /// evicted. Returns `None` if every way of the set is in use.
    fn reserve(&mut self, spec: &Spec, exchange: &mut Exchange, core: u32, line: u32, now: u64) -> Option<usize> {
        let way = self.room(core, line, now)?;
        if !self.outer.is_free(way) {
            self.evict(spec, exchange, core, way, now);
        }
        self.outer.put(way, line);
        Some(way)
    }

    fn evict(&mut self, spec: &Spec, exchange: &mut Exchange, core: u32, way: usize, now: u64) {
        let line = self.outer.line(way);
        let state = State::ALL[usize::from(self.outer.state[way])];
        let slot = self.open(core, line, Some(way), false);
        let mut here =
            LineAtCore { core, line, state, way: Some(way), slot: Some(slot), transaction: Transaction::default() };
        let (table, presented) = (&spec.protocol.cache, Presented { event: Event::Evict, to: CoreId(core) });
        let mut effects = CacheEffects::on(&here, spec, self, exchange, now);
        let step = cache::step(table, CoreId(core), &mut here.state, &mut here.transaction, presented, &mut effects);
        if let Err(hole) = step {
            panic!("line {line} at core {core}: {hole}");
        }
        exchange.counts.memory.evictions += 1;
        self.settle(spec, exchange, &here, now);
    }

    /// Takes a protocol message at a core.
    pub(super) fn take(
        &mut self,
        spec: &Spec,
        exchange: &mut Exchange,
        id: u32,
        core: u32,
        message: Message,
        now: u64,
    ) {
        let line = exchange.flights[id].line;
        let forward = message.kind.class() == Class::Forward;
        let own = &mut self.cores[core as usize];
        if forward && let Some(until) = own.pinned_until(line, now) {
            // A write to the line is still going on, so the forward waits until the write is over.
            own.awaited.push(line);
            exchange.flights[id].charge(Part::Remote, now);
            exchange.flights[id].stage = Stage::Deliver;
            exchange.schedule(id, until);
            return;
        }
        let waited = if forward { own.awaited.iter().position(|&awaited| awaited == line) } else { None };
        if let Some(at) = waited {
            own.awaited.swap_remove(at);
        }
        let flight = exchange.flights.take(id);
        let found = self.find(core, line);
        let mut here = LineAtCore {
            core,
            line,
            state: found.state,
            way: found.way,
            slot: found.slot,
            transaction: self.transaction(found.slot),
        };
        let offer = matches!(message.kind, Kind::OfferS | Kind::OfferE);
        let mut room = false;
        if offer && here.way.is_none() && here.slot.is_none() {
            here.way = self.reserve(spec, exchange, core, line, now);
            room = here.way.is_some();
        }
        exchange.counts.note_message(core, message.kind);
        let mut effects = CacheEffects {
            parts: flight.parts,
            charged: false,
            deferred: !forward,
            version: flight.version,
            // A message that is no forward lets this core answer an earlier forward, which serves
            // another request. The mark of that request is not kept.
            mark: if forward { flight.mark } else { Default::default() },
            ..CacheEffects::on(&here, spec, self, exchange, now)
        };
        let (table, me) = (&spec.protocol.cache, CoreId(core));
        let step = cache::deliver(table, me, &mut here.state, &mut here.transaction, &message, room, &mut effects);
        if let Err(hole) = step {
            panic!("line {line} at core {core}: {hole}");
        }
        self.settle(spec, exchange, &here, now);
        if waited.is_some() && !self.cores[core as usize].blocked.is_empty() {
            self.retry(spec, exchange, core, now);
        }
    }

    /// Stores a line's state after a step, and lets accesses go on that waited for the end of its
    /// transaction.
    fn settle(&mut self, spec: &Spec, exchange: &mut Exchange, here: &LineAtCore<S>, now: u64) {
        let LineAtCore { core, line, state, way, slot, .. } = *here;
        if state.is_stable() {
            if let Some(way) = way {
                self.outer.slot[way] = 0;
                self.outer.state[way] = state as u8;
                if state == State::I {
                    self.outer.clear(way);
                }
            }
            if let Some(slot) = slot {
                self.close(spec, exchange, core, slot, way.is_none(), now);
            } else if state == State::I && !self.cores[core as usize].blocked.is_empty() {
                self.retry(spec, exchange, core, now);
            }
            return;
        }
        let Some(slot) = slot else { unreachable!("line {line} at core {core} is in state {state} without a slot") };
        let gives_up = matches!(state, State::MiA | State::EiA | State::OiA | State::SiA | State::IiA);
        let kept = &mut self.slots[slot];
        (kept.state, kept.transaction) = (state, here.transaction);
        match way {
            Some(way) if gives_up => {
                kept.version = exchange.golden.copy(way);
                kept.way = None;
                self.outer.clear(way);
                self.cores[core as usize].without_way.push(slot);
            }
            Some(way) => self.outer.state[way] = state as u8,
            None => {}
        }
    }

    /// Closes a transaction.
    fn close(&mut self, spec: &Spec, exchange: &mut Exchange, core: u32, slot: u32, without_way: bool, now: u64) {
        let closed = self.slots.take(slot);
        let own = &mut self.cores[core as usize];
        own.used -= u32::from(closed.counted);
        if without_way {
            own.without_way.retain(|&other| other != slot);
        }
        debug_assert_eq!(closed.first, NONE, "an access whose transaction is over was not performed");
        let mut next = closed.waiting;
        while next != NONE {
            let waiter = self.waiters.take(next);
            next = waiter.next;
            self.present_again(spec, exchange, waiter, false, now);
        }
        self.retry(spec, exchange, core, now);
    }

    /// Presents blocked accesses again, in their order, until one stays blocked.
    fn retry(&mut self, spec: &Spec, exchange: &mut Exchange, core: u32, now: u64) {
        while let Some(front) = self.cores[core as usize].blocked.pop_front() {
            let waiter = self.waiters.take(front);
            if !self.present_again(spec, exchange, waiter, true, now) {
                break;
            }
        }
    }

    /// Presents an access that waited. Returns whether the access went on. `first` says that the
    /// access was blocked and is first in line.
    fn present_again(&mut self, spec: &Spec, exchange: &mut Exchange, waiter: Waiter, first: bool, now: u64) -> bool {
        let Waiter { request, issued, .. } = waiter;
        match self.begin(spec, exchange, &Attempt { request, issued, again: first }, now) {
            Begun::Served(Served { at, failed, .. }, parts) => {
                exchange.served(request.token, at.0, parts, failed, now);
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
}

fn served(at: u64, hit: bool, failed: bool, parts: Parts) -> Begun {
    Begun::Served(Served { at: Cycles(at), hit, beyond: Part::L2, failed, invalidates: false }, parts)
}

/// Whether the access is a hint, for which no thread waits.
#[inline(always)]
fn is_hint(event: Event) -> bool {
    matches!(event, Event::PrefetchS | Event::PrefetchM | Event::PushHome | Event::PushTo)
}

#[inline(always)]
fn is_write(event: Event) -> bool {
    matches!(event, Event::Store | Event::StoreConditional)
}
