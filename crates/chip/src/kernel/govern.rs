//! Tells the governor what CPUs did, and requests the clocks that it decides.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, Step};
use crate::engine::thread::ThreadState;
use crate::os::governor::{ClockFigures, Done, governed};
use baton_memory::{Memory, Part};
use baton_sched::governor::{Governed, Governor};
use baton_units::{CoreId, Cycles, Hertz};

/// The parts of a memory request's time that do not depend on a core's clock.
const FAR: [Part; 6] =
    [Part::Home, Part::HomeQueueing, Part::Network, Part::NetworkQueueing, Part::Remote, Part::Memory];

impl Engine {
    /// The first period begins.
    pub(crate) fn begin_governing(&mut self) {
        if let Some(governing) = &self.os.governing {
            self.queue.put(Event::GOVERNOR, governing.period, Rank::Next);
        }
    }

    /// Replaces the governor, on a chip that has one.
    pub(crate) fn replace_governor(&mut self, name: &'static str, make: &dyn Fn(&Governed) -> Box<dyn Governor>) {
        let cores: Vec<CoreId> = self.os.cpus.iter().map(|cpu| cpu.core).collect();
        let governor = make(&governed(&self.chip, &self.cores.kinds, &cores));
        let governing = self.os.governing.as_mut().expect("the chip has a governor to replace");
        governing.replace(name, governor);
    }

    /// What a thread has done on CPUs so far. An operation under way counts as waiting for memory.
    fn done(&self, id: ThreadId) -> Done {
        let thread = &self.threads[id as usize];
        let (times, open) = (&thread.stats.times, self.now - thread.stats.since);
        let sum = |reasons: &[Reason]| reasons.iter().map(|&reason| times[reason as usize]).sum::<u64>();
        let in_memory = times[Reason::Memory as usize];
        // Time without a known part was spent on hits in the nearest cache.
        let far = FAR.iter().map(|&part| thread.stats.parts[part as usize]).sum::<u64>().min(in_memory);
        let own = [Reason::Work, Reason::Flush, Reason::Mode, Reason::Kernel, Reason::Switch, Reason::Waking];
        let waits = [Reason::StoreBuffer, Reason::Device, Reason::QueueFull, Reason::QueueEmpty];
        let mut done = [
            sum(&own) + in_memory - far,
            sum(&waits) + far,
            times[Reason::Spin as usize],
            times[Reason::Monitor as usize],
        ];
        let at = match thread.state {
            ThreadState::Working(_) | ThreadState::Starting | ThreadState::Interrupted => 0,
            ThreadState::Running | ThreadState::Cancelling => 1,
            ThreadState::Spinning => 2,
            ThreadState::IdleWait => 3,
            ThreadState::Ready | ThreadState::Asleep | ThreadState::Done => return done,
        };
        done[at] += open;
        done
    }

    /// A thread has been given a CPU.
    #[inline]
    pub(super) fn governor_sees(&mut self, cpu: u32, id: ThreadId) {
        if self.os.governing.is_some() {
            let done = self.done(id);
            self.os.governing.iter_mut().for_each(|governing| governing.comes(cpu, done));
        }
    }

    /// A thread has left a CPU.
    #[inline]
    pub(super) fn governor_saw(&mut self, cpu: u32, id: ThreadId) {
        if self.os.governing.is_some() {
            let done = self.done(id);
            self.os.governing.iter_mut().for_each(|governing| governing.leaves(cpu, done));
        }
    }

    /// The governor's period is over.
    pub(crate) fn governor_came(&mut self) -> Step {
        // Without threads the run is over. If nothing else will ever happen, the governor stops.
        if !self.os.lives_on() || self.queue.first() == u64::MAX && self.memory.next() == u64::MAX {
            return Step::Handled;
        }
        if self.hangs() {
            return Step::Silence;
        }
        if self.counts.events > self.bounds.events {
            return Step::Limit;
        }
        for (core, clock) in self.governor_decides() {
            self.govern(core, clock);
        }
        let period = self.os.governing.as_ref().map_or(u64::MAX, |governing| governing.period);
        self.queue.put(Event::GOVERNOR, self.now.saturating_add(period), Rank::Next);
        Step::Handled
    }

    /// The clock for each core in use: the fastest that its CPUs get.
    fn governor_decides(&mut self) -> Vec<(CoreId, Hertz)> {
        let current: Vec<_> = self.os.cpus.iter().map(|cpu| (cpu.core, cpu.current)).collect();
        for (cpu, &(_, id)) in (0..).zip(&current) {
            if let Some(id) = id {
                self.governor_saw(cpu, id);
            }
        }
        self.put_clocks_down(self.now);
        let cpus: Vec<(CoreId, bool)> = current.iter().map(|&(core, id)| (core, id.is_some())).collect();
        let Some(governing) = &mut self.os.governing else { return Vec::new() };
        let clocks = governing.decide(self.now, &cpus);
        let mut wanted: Vec<(CoreId, Hertz)> = Vec::new();
        for (&(core, _), clock) in cpus.iter().zip(clocks) {
            match wanted.iter_mut().find(|(other, _)| *other == core) {
                Some((_, fastest)) => *fastest = clock.max(*fastest),
                None => wanted.push((core, clock)),
            }
        }
        wanted
    }

    /// Requests a clock for a core, unless the core has this clock or, if changes are under way,
    /// will have it after the last one. If a thread runs on the core, it pays for the request.
    fn govern(&mut self, core: CoreId, clock: Hertz) {
        let coming = self.cores.clocks.changes.values().rev().find(|(other, _)| *other == core);
        if coming.map_or(self.cores.clocks.clock(core), |&(_, clock)| clock) == clock {
            return;
        }
        self.os.governing.iter_mut().for_each(|governing| governing.changes += 1);
        let price = self.chip.core.clock_change.unwrap_or(Cycles(0)).0;
        let payer = (0..).zip(&self.os.cpus).find(|(_, cpu)| cpu.core == core && cpu.current.is_some());
        if let Some((cpu, _)) = payer.filter(|_| price != 0) {
            self.interrupt_cpu(cpu, price);
        }
        self.ask_for_clock(core, clock);
    }

    /// Records which clock each core has had up to `until`.
    fn put_clocks_down(&mut self, until: u64) {
        for core in (0..self.chip.core.count).map(CoreId) {
            let (clock, in_use) = (self.cores.clocks.clock(core), self.os.is_in_use(core));
            if let Some(governing) = &mut self.os.governing {
                governing.had_clock(core, clock, until, in_use);
            }
        }
    }

    /// How the governor set clocks in a run that ended at `end`.
    pub(crate) fn clock_figures(&mut self, end: Cycles) -> Option<ClockFigures> {
        self.put_clocks_down(end.0);
        self.os.governing.as_ref().map(|governing| governing.figures())
    }
}
