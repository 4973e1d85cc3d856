//! What the rows of the protocol do to a core's caches: messages leave, accesses are performed, copies come and go.

use super::Coherent;
use super::message::{Flight, NONE, Stage, Unit, What};
use super::private::Waiter;
use crate::memory::border::{Access, Notice, Part, Parts};
use baton_coherence::cache::{self, Event};
use baton_coherence::{Agent, CoreSet, Message};
use baton_noc::Header;
use baton_units::CoreId;

/// What the rows do to a core's caches.
pub(super) struct CacheEffects<'a, S: CoreSet> {
    pub(super) chip: &'a mut Coherent<S>,
    pub(super) core: u32,
    pub(super) line: u32,
    pub(super) way: Option<usize>,
    pub(super) slot: Option<u32>,
    pub(super) now: u64,
    /// From now until what is sent leaves.
    pub(super) delay: u64,
    /// Where the request's time has gone up to now.
    pub(super) parts: Parts,
    /// The delay is in `parts` already.
    pub(super) charged: bool,
    /// What is sent to other cores answers forwards that came before, whose ways `parts` does not know.
    pub(super) deferred: bool,
    /// Of the data that the message brings.
    pub(super) version: u32,
    /// Of the request that is served.
    pub(super) mark: Header,
    pub(super) hit: bool,
    pub(super) failed: bool,
}

impl<'a, S: CoreSet> CacheEffects<'a, S> {
    /// At a line's place in a core, now: after a look into all private levels, for nobody's request.
    #[inline(always)]
    pub(super) fn at(
        chip: &'a mut Coherent<S>,
        (core, line): (u32, u32),
        (way, slot): (Option<usize>, Option<u32>),
        now: u64,
    ) -> Self {
        CacheEffects {
            delay: chip.own[core as usize].lookup,
            chip,
            core,
            line,
            way,
            slot,
            now,
            parts: Parts::default(),
            charged: true,
            deferred: false,
            version: 0,
            mark: Header::default(),
            hit: false,
            failed: false,
        }
    }

    /// The version of the data here.
    fn data(&self) -> u32 {
        match (self.way, self.slot) {
            (Some(way), _) => self.chip.golden.copy(way),
            (None, Some(slot)) => self.chip.slots[slot].version,
            (None, None) => self.version,
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
            Agent::Home => Unit::Home(self.chip.plan.home(self.line).0),
            Agent::Core(core) => Unit::Core(core.0),
        };
        let at = self.now + self.delay;
        let flight = Flight {
            stage: Stage::Send,
            what: What::Protocol(message),
            line: self.line,
            from: Unit::Core(self.core),
            to,
            placed: false,
            next: NONE,
            since: at,
            parts,
            version: self.data(),
            mark: self.mark,
        };
        self.chip.post(flight, at);
    }

    fn hit(&mut self) {
        self.hit = true;
    }

    fn complete(&mut self, once: bool) {
        let Some(slot) = self.slot else { return };
        let first = std::mem::replace(&mut self.chip.slots[slot].first, NONE);
        if first == NONE {
            return;
        }
        let Waiter { request, issued, .. } = self.chip.waiters.take(first);
        let event = self.chip.event(request.access);
        let own = &mut self.chip.cores[self.core as usize];
        let mut failed = false;
        match event {
            Event::LoadLinked => {
                own.links[request.access.context()] = if once { 0 } else { self.line + 1 };
            }
            Event::StoreConditional => {
                let context = request.access.context();
                failed = own.links[context] != self.line + 1;
                own.failed[context] = failed;
            }
            _ => {}
        }
        let (mut parts, mut at) = (self.parts, self.now);
        if request.access == Access::Atomic && event == Event::Store {
            at += self.chip.own[self.core as usize].atomic;
            self.delay += self.chip.own[self.core as usize].atomic;
            parts.add(Part::Atomic, self.chip.own[self.core as usize].atomic);
        }
        // What the ways of messages do not show was waiting: behind the core's own transactions, or, if the way of the
        // request itself is not known, for another cache to be done with the line.
        let waited = if parts.0[Part::L1 as usize] == 0 { Part::Remote } else { Part::L1 };
        parts.add(waited, (at - issued).saturating_sub(parts.total()));
        if event == Event::FarAtomic {
            // Performed at the home.
        } else if once {
            // The value was the newest some time after the load was issued.
        } else if let Some(way) = self.way.filter(|_| !failed) {
            let (core, line) = (self.core, self.line);
            self.chip.performed(core, line, way, event, at, self.now);
        }
        self.chip.out.push(Notice::Done { token: request.token, at, parts, failed });
        self.chip.outstanding -= 1;
        self.chip.progress = self.now;
    }

    fn lost(&mut self) {
        let core = &mut self.chip.cores[self.core as usize];
        core.unlink(self.line);
        if let Some(l1) = &mut self.chip.l1
            && let Some(way) = l1.find(self.core, self.line, self.line)
        {
            l1.clear(way);
        }
        let line = crate::memory::Line(self.line);
        self.chip.out.push(Notice::Lost { core: CoreId(self.core), line });
    }

    fn fill(&mut self) {
        if let Some(way) = self.way {
            self.chip.golden.fill(way, self.version);
            self.chip.outer.touch(way);
        }
        let wanted = self.slot.is_some_and(|slot| self.chip.slots[slot].first != NONE);
        if wanted {
            self.chip.fill_l1(self.core, self.line);
        }
    }
}
