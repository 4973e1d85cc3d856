//! What the engine asks of the coherent memory system.

use super::chip::Coherent;
use super::message::{Content, Unit};
use crate::base::ratio::Ratio;
use crate::border::{Answer, Line, Notice, Request};
use crate::contract::{Memory, Transport};
use crate::counts::{CoreCounts, MemoryCounts, NetworkCounts};
use crate::packets::{Carried, Interrupt, InterruptEnd};
use baton_chipfile::config::plan::DEVICE_CLASS;
use baton_coherence::CoreSet;
use baton_noc::Header;
use baton_units::{CoreId, Cycles};

impl<S: CoreSet> Memory for Coherent<S> {
    fn request(&mut self, request: Request, now: Cycles) -> Answer {
        let (state, now) = (&mut self.state, now.0);
        state.now = now;
        state.exchange.events.advance(now);
        let answer = state.caches.ask(&self.spec, &mut state.exchange, request, now);
        if answer == Answer::Pending {
            state.exchange.began(now);
        }
        self.refresh();
        answer
    }

    #[inline(always)]
    fn next(&self) -> u64 {
        self.state.next
    }

    fn advance(&mut self, to: u64, out: &mut Vec<Notice>) -> u64 {
        while self.state.exchange.notices.is_empty()
            && self.state.next <= to
            && self.state.next != u64::MAX
            && !self.is_hung()
        {
            self.moment(to);
            self.refresh();
        }
        out.append(&mut self.state.exchange.notices);
        self.refresh();
        self.state.now
    }

    #[inline]
    fn holds(&self, core: CoreId, line: Line, _: Cycles) -> bool {
        let caches = &self.state.caches;
        caches.is_near(core.0, line.0) && caches.find(core.0, line.0).state.is_readable()
    }

    #[inline(always)]
    fn hit(&self, core: CoreId) -> Cycles {
        Cycles(self.state.caches.times[core.0 as usize].l1)
    }

    fn set_clock(&mut self, core: CoreId, ratio: Ratio) {
        self.state.caches.times[core.0 as usize] = self.spec.core_times(core.0).scaled(ratio);
    }

    fn failed(&self, core: CoreId, context: u8) -> bool {
        self.state.caches.cores[core.0 as usize].failed[usize::from(context)]
    }

    fn unlink(&mut self, core: CoreId, context: u8) {
        self.state.caches.cores[core.0 as usize].links[usize::from(context)] = 0;
    }

    fn count_hits(&mut self, core: CoreId, n: u64) {
        self.state.exchange.counts.cores[core.0 as usize].hits += n;
    }

    fn counts(&self) -> MemoryCounts {
        self.state.exchange.counts.summary()
    }

    fn network_counts(&self) -> NetworkCounts {
        NetworkCounts { flit_hops: self.wiring.net.flit_hops(), ..self.state.exchange.counts.network }
    }

    fn by_core(&self) -> Vec<CoreCounts> {
        self.state.exchange.counts.cores.to_vec()
    }

    fn check_idle(&self) {
        self.check();
    }

    fn is_hung(&self) -> bool {
        self.state.now > self.state.exchange.hangs_after()
    }

    fn forget_longest(&mut self) {
        self.state.exchange.counts.forget_longest();
    }

    fn explain(&self) -> Vec<String> {
        self.waits()
    }
}

impl<S: CoreSet> Transport for Coherent<S> {
    fn carry(&mut self, packet: Carried, now: Cycles) {
        let Carried { tag, core, device, to_core, always_taken } = packet;
        let (core, device) = (Unit::Core(core.0), Unit::Device(device));
        let (from, to) = if to_core { (device, core) } else { (core, device) };
        let content = if always_taken { Content::Cancel(tag) } else { Content::Carried(tag) };
        self.depart(content, from, to, Header::default(), now);
    }

    fn free_place(&mut self, device: u32, now: Cycles) {
        let node = self.spec.map.node(Unit::Device(device));
        self.wiring.net.release(now.0, node, DEVICE_CLASS as u8);
        self.refresh();
    }

    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles) {
        let Interrupt { tag, from, to, mark } = interrupt;
        let unit = |end| match end {
            InterruptEnd::Core(core) => Unit::Core(core.0),
            InterruptEnd::HomeOf(line) => Unit::Home(self.spec.map.home(line.0, &self.state.exchange.pages)),
        };
        let (from, to) = (unit(from), unit(to));
        self.depart(Content::Interrupt(tag), from, to, mark, now);
    }
}
