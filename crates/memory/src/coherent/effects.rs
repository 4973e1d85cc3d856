//! What the rows of the protocol do to a core's caches: messages leave, accesses are performed,
//! copies come and go.

use super::caches::{Caches, LineAtCore};
use super::exchange::Exchange;
use super::message::{Content, Flight, NONE, Stage, Unit};
use super::private::Waiter;
use super::spec::Spec;
use crate::border::{Access, Line, Notice};
use crate::parts::{Part, Parts};
use baton_coherence::cache::{self, Event};
use baton_coherence::{Agent, CoreSet, Message};
use baton_noc::Header;
use baton_units::CoreId;

/// What the rows do to a core's caches.
pub(super) struct CacheEffects<'a, S: CoreSet> {
    pub(super) spec: &'a Spec,
    pub(super) caches: &'a mut Caches<S>,
    pub(super) exchange: &'a mut Exchange,
    pub(super) core: u32,
    pub(super) line: u32,
    pub(super) way: Option<usize>,
    pub(super) slot: Option<u32>,
    pub(super) now: u64,
    /// Time from now until a message that is sent leaves.
    pub(super) delay: u64,
    /// The parts of the request's time up to now.
    pub(super) parts: Parts,
    /// Whether the delay is in `parts` already.
    pub(super) charged: bool,
    /// Whether messages to other cores answer earlier forwards, whose ways are not part of `parts`.
    pub(super) deferred: bool,
    /// The version of the data that the message brings.
    pub(super) version: u32,
    /// The mark of the request that is served.
    pub(super) mark: Header,
    pub(super) hit: bool,
}

impl<'a, S: CoreSet> CacheEffects<'a, S> {
    /// The effects on a line at a core at this moment, as after a lookup in all private levels and
    /// without a request's parts and mark; callers change what differs.
    #[inline(always)]
    pub(super) fn on(
        here: &LineAtCore<S>,
        spec: &'a Spec,
        caches: &'a mut Caches<S>,
        exchange: &'a mut Exchange,
        now: u64,
    ) -> Self {
        CacheEffects {
            delay: caches.times[here.core as usize].lookup,
            spec,
            caches,
            exchange,
            core: here.core,
            line: here.line,
            way: here.way,
            slot: here.slot,
            now,
            parts: Parts::default(),
            charged: true,
            deferred: false,
            version: 0,
            mark: Header::default(),
            hit: false,
        }
    }

    /// The version of the data in this copy.
    fn data(&self) -> u32 {
        match (self.way, self.slot) {
            (Some(way), _) => self.exchange.golden.copy(way),
            (None, Some(slot)) => self.caches.slots[slot].version,
            (None, None) => self.version,
        }
    }

    /// Changes the link of the served access's context. Returns whether the access is a
    /// store-conditional that fails. `once` says that the core does not keep the copy, so that the
    /// link cannot stand.
    fn links(&mut self, event: Event, access: Access, once: bool) -> bool {
        let core = &mut self.caches.cores[self.core as usize];
        let context = access.context();
        match event {
            Event::LoadLinked => {
                core.links[context] = if once { 0 } else { self.line + 1 };
                false
            }
            Event::StoreConditional => {
                core.failed[context] = core.links[context] != self.line + 1;
                core.failed[context]
            }
            _ => false,
        }
    }
}

impl<S: CoreSet> cache::Effects for CacheEffects<'_, S> {
    #[inline]
    fn send(&mut self, to: Agent, message: Message) {
        let mut parts = if self.deferred { Parts::default() } else { self.parts };
        if !self.charged {
            parts.add(Part::Remote, self.delay);
        }
        let to = match to {
            Agent::Home => Unit::Home(self.spec.map.home(self.line, &self.exchange.pages)),
            Agent::Core(core) => Unit::Core(core.0),
        };
        let at = self.now + self.delay;
        let flight = Flight {
            stage: Stage::Send,
            content: Content::Protocol(message),
            line: self.line,
            from: Unit::Core(self.core),
            to,
            placed: false,
            passed: 0,
            next: NONE,
            since: at,
            parts,
            version: self.data(),
            mark: self.mark,
        };
        self.exchange.post(flight, at);
    }

    fn hit(&mut self) {
        self.hit = true;
    }

    fn complete(&mut self, once: bool) {
        let Some(slot) = self.slot else { return };
        let first = std::mem::replace(&mut self.caches.slots[slot].first, NONE);
        if first == NONE {
            return;
        }
        let Waiter { request, issued, .. } = self.caches.waiters.take(first);
        let event = self.spec.event(request.access);
        let failed = self.links(event, request.access, once);
        let (mut parts, mut at) = (self.parts, self.now);
        if request.access == Access::Atomic && event == Event::Store {
            let atomic = self.caches.times[self.core as usize].atomic;
            at += atomic;
            self.delay += atomic;
            parts.add(Part::Atomic, atomic);
        }
        // The rest of the time since the access was issued was waiting. Without any time in the L1,
        // the parts of the request's own way are not known, and the rest counts as waiting for
        // another cache; otherwise the access waited for transactions of its own core.
        let waited = if parts.0[Part::L1 as usize] == 0 { Part::Remote } else { Part::L1 };
        parts.add(waited, (at - issued).saturating_sub(parts.total()));
        if event == Event::FarAtomic {
            // The access was performed at the home, so no copy of this core changes.
        } else if once {
            // The copy is not kept: the load took a value that was the newest at some time after
            // the load was issued.
        } else if let Some(way) = self.way.filter(|_| !failed) {
            self.caches.performed(self.exchange, (self.core, self.line, way), event, at, self.now);
        }
        self.exchange.served(request.token, at, parts, failed, self.now);
    }

    fn lost(&mut self) {
        self.caches.cores[self.core as usize].unlink(self.line);
        if let Some(l1) = &mut self.caches.l1
            && let Some(way) = l1.find(self.core, self.line, self.line)
        {
            l1.clear(way);
        }
        self.exchange.notices.push(Notice::Lost { core: CoreId(self.core), line: Line(self.line) });
    }

    fn fill(&mut self) {
        if let Some(way) = self.way {
            self.exchange.golden.fill(way, self.version);
            self.caches.outer.touch(way);
        }
        let wanted = self.slot.is_some_and(|slot| self.caches.slots[slot].first != NONE);
        if wanted {
            self.caches.fill_l1(self.core, self.line, &mut self.exchange.notices);
        }
    }
}
