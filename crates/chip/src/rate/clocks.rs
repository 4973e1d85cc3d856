//! Computations at their cores' clocks: when they end, what is left of them when they stop, and how
//! a change of clock affects them.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::clock::domain::Remaining;
use crate::clock::domain::whole;
use crate::contexts::share::Demand;
use crate::engine::reason::Reason;
use crate::engine::spin::progress;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use baton_memory::Memory;
use baton_units::{CoreId, Hertz};

impl Engine {
    /// The rest of a thread's computation, which would end at `until`, if the computation stops
    /// now.
    pub(crate) fn rest_of(&mut self, id: ThreadId, until: u64) -> Remaining {
        let place = self.place(id);
        // Time for which the thread must still stand still is no computation.
        let from = self.threads[id as usize].pace.still_until.clamp(self.now, until);
        self.cores.clocks.rest(place, from, until)
    }

    /// A thread continues the rest of its computation on its current CPU. Returns the end.
    pub(crate) fn end_of(&mut self, id: ThreadId, left: Remaining) -> u64 {
        let left = self.come_to_phase(id, left);
        let place = self.place(id);
        let from = self.threads[id as usize].pace.still_until.max(self.now);
        self.cores.clocks.end(place, from, left)
    }

    /// Returns the end of a computation of the running thread that begins now and would take
    /// `cycles` cycles on a core of its own.
    #[inline(always)]
    pub(crate) fn computes(&mut self, cycles: u64) -> u64 {
        if self.chip.core.contexts == 1 && !self.cores.clocks.has_memory_bound() {
            return self.after(cycles);
        }
        let work = self.cores.clocks.computation(cycles);
        self.end_of(self.running, work)
    }

    /// Sets a core's clock, from now on. What the core's CPUs compute, and the pauses of those that
    /// spin, continue at the new clock. Returns whether the core had another clock before.
    pub(crate) fn set_clock(&mut self, core: CoreId, clock: Hertz) -> bool {
        let before = self.cores.clocks.clock(core);
        if clock == before {
            return false;
        }
        self.meter_change(core);
        let in_use = self.os.is_in_use(core);
        if let Some(governing) = self.os.governing.as_mut() {
            governing.had_clock(core, before, self.now, in_use);
        }
        let cpus = (0..self.chip.core.contexts).map(|context| core.0 + context * self.chip.core.count);
        let running: Vec<ThreadId> =
            cpus.filter_map(|cpu| self.os.cpus.get(cpu as usize).and_then(|cpu| cpu.current)).collect();
        let left: Vec<Option<Remaining>> = running
            .iter()
            .map(|&id| match self.threads[id as usize].state {
                ThreadState::Working(until) if !self.is_in_phase(id) => Some(self.rest_of(id, until)),
                _ => None,
            })
            .collect();
        self.cores.clocks.set(core, clock);
        self.memory.set_clock(core, self.cores.clocks.ratio(core));
        self.re_rate_phases(None);
        for (id, left) in running.into_iter().zip(left) {
            match left {
                Some(left) => {
                    let until = self.end_of(id, left);
                    self.threads[id as usize].state = ThreadState::Working(until);
                    self.queue.cancel(Event::thread(id));
                    self.queue.put(Event::thread(id), until, Rank::Next);
                }
                None if self.threads[id as usize].state == ThreadState::Spinning => self.re_rate_spin(id, before),
                None => {}
            }
        }
        true
    }

    /// The pause of a spinning thread between two tries continues at the new clock; a try that is
    /// under way ends as it began.
    fn re_rate_spin(&mut self, id: ThreadId, before: Hertz) {
        let now = self.now;
        let core = self.core_of(id);
        let clock = self.cores.clocks.clock(core);
        let scaled = |ticks: u64| whole(ticks, before.0, clock.0);
        let hit = self.memory.hit(core).0;
        let gap = self.cores.clocks.whole(core, self.threads[id as usize].wait.spin.between);
        let thread = &mut self.threads[id as usize];
        let spin = &mut thread.wait.spin;
        if !thread.wait.watches {
            // The thread's last try is under way (`hits`), or the thread pauses before its next
            // try.
            if spin.hits {
                return;
            }
            spin.first = now + scaled(spin.first - now);
            let at = spin.first;
            self.queue.cancel(Event::thread(id));
            self.queue.put(Event::thread(id), at, Rank::Try(id));
            return;
        }
        let (done, under_way) = progress(spin, now);
        let pause = spin.issue(done).saturating_sub(now);
        if spin.most != u64::MAX {
            spin.most -= done;
        }
        spin.before += done;
        match under_way {
            Some(end) => (spin.busy, spin.first) = (end, end + gap),
            None => (spin.busy, spin.first) = (0, now + scaled(pause)),
        }
        (spin.period, spin.hit) = (gap + hit, hit);
        let tries = spin.tries();
        spin.done = spin.before.saturating_add(tries);
        let last = spin.last_end(tries);
        self.queue.cancel(Event::thread(id));
        if tries != u64::MAX {
            self.queue.put(Event::thread(id), last.max(now), Rank::Try(id));
        }
    }

    /// The running thread computes until the time that `begin` returns. Returns whether the
    /// computation is over at once; if not, the thread must suspend.
    #[inline(always)]
    pub(crate) fn computes_at_once(&mut self, begin: impl FnOnce(&mut Engine) -> u64) -> bool {
        self.demand(Demand::Computes);
        let until = begin(self);
        let over = self.over(until, Rank::Next);
        if !over {
            self.threads[self.running as usize].state = ThreadState::Working(until);
        }
        over
    }

    /// The running thread's computation is over: charges its time, and moves what handlers and
    /// changes of mode took of it to their reasons.
    #[inline(always)]
    pub(crate) fn charge_computation(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        thread.charge(Reason::Work, now);
        if thread.pace.stolen != 0 {
            let stolen = std::mem::take(&mut thread.pace.stolen);
            thread.stats.shift(Reason::Work, Reason::Kernel, stolen);
        }
        if thread.pace.changing != 0 {
            let changing = std::mem::take(&mut thread.pace.changing);
            thread.stats.shift(Reason::Work, Reason::Mode, changing);
        }
        self.demand(Demand::Nothing);
    }
}
