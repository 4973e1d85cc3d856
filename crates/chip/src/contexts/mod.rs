//! Hardware contexts of a core (SMT): what each has of it, by what its siblings do.
//!
//! A context is **active** while a thread is on its CPU and the CPU does not stand still: a thread that waits with a
//! monitor or halted, and a CPU without a thread, give their part back; one that spins, with PAUSE or without, keeps it.
//! Active contexts divide the store buffer, the window and the load and store queues evenly; issue slots they share
//! cycle by cycle; caches and misses under way belong to the core. When a context becomes active beside another one, or
//! one of several ceases to be, the core changes its mode, and for `core.mode_change` cycles none of them goes on.
//!
//! No number here slows a thread down by itself: [`share`] says how fast a computation is in the part that it has.
//! What a context asks for is said when it begins to compute or to spin ([`Engine::demand`]); computations of its
//! siblings are then re-rated to the cycle, as they are when a clock changes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`share`] | the calculation: window, partition, slots |

pub(crate) mod share;

use crate::config::Chip;
use crate::core::window::Share;
use crate::engine::queue::Rank;
use crate::engine::thread::{State, ThreadId};
use crate::engine::{Engine, own};
use crate::memory::Memory;
use baton_units::CoreId;
use share::{Demand, MOST, ONE, Shares};

/// Which contexts are active.
pub(crate) struct Contexts {
    shares: Option<Shares>,
    /// By CPU.
    active: Vec<bool>,
    /// By core: how many.
    counts: Vec<u32>,
}

impl Contexts {
    pub(crate) fn of(chip: &Chip) -> Contexts {
        let (cpus, cores) = (chip.cpus() as usize, chip.core.count as usize);
        Contexts { shares: Shares::of(&chip.core), active: vec![false; cpus], counts: vec![0; cores] }
    }
}

impl Engine {
    /// The CPUs of a core, in the order of its contexts.
    fn contexts_of(&self, core: CoreId) -> impl Iterator<Item = u32> + use<> {
        let count = self.chip.core.count;
        (0..self.chip.core.contexts).map(move |context| core.0 + context * count)
    }

    /// Which context of its core the running thread is on.
    #[inline]
    pub(crate) fn context(&self) -> u8 {
        (self.threads[self.running as usize].cpu / self.chip.core.count) as u8
    }

    /// The running thread leaves its CPU: a link that it has set breaks, as a switch of threads breaks one on real cores.
    pub(crate) fn unlink(&mut self) {
        if self.links {
            self.memory.unlink(self.core_of(self.running), self.context());
        }
    }

    /// The thread on a CPU.
    fn on(&self, cpu: u32) -> Option<ThreadId> {
        self.cpus.get(cpu as usize).and_then(|cpu| cpu.current)
    }

    /// The CPU's context becomes active: the cycles of the reference's clock for which it waits until the core has changed its mode.
    pub(crate) fn activate(&mut self, cpu: u32) -> u64 {
        if self.chip.core.contexts == 1 || std::mem::replace(&mut self.contexts.active[cpu as usize], true) {
            return 0;
        }
        let core = self.chip.core_of(cpu);
        self.contexts.counts[core.0 as usize] += 1;
        self.change_mode(core, cpu)
    }

    /// The CPU's context gives its part back.
    pub(crate) fn deactivate(&mut self, cpu: u32) {
        if self.chip.core.contexts == 1 || !std::mem::replace(&mut self.contexts.active[cpu as usize], false) {
            return;
        }
        let core = self.chip.core_of(cpu);
        self.contexts.counts[core.0 as usize] -= 1;
        self.change_mode(core, cpu);
    }

    /// The core's active contexts are others than before: all of them stand still meanwhile. How long.
    fn change_mode(&mut self, core: CoreId, changed: u32) -> u64 {
        let mut cycles = 0;
        for cpu in self.contexts_of(core).filter(|&cpu| cpu != changed) {
            if !self.contexts.active[cpu as usize] {
                continue;
            }
            cycles = self.clocks.whole(core, self.chip.core.mode_change.0);
            if let Some(id) = self.on(cpu) {
                self.stand_still(id, cycles);
            }
        }
        let of = self.contexts.counts[core.0 as usize].max(1);
        for cpu in self.contexts_of(core) {
            self.set_share(cpu, Share { parts: 1, of });
        }
        self.share_core(core);
        cycles
    }

    /// A thread's context stands still: a computation goes on that much later; any other thread waits before its next
    /// operation. One that spins loses nothing.
    fn stand_still(&mut self, id: ThreadId, cycles: u64) {
        match self.threads[id as usize].state {
            State::Working(until) => {
                let left = self.rest_of(id, until);
                let thread = &mut self.threads[id as usize];
                thread.put_off(self.now, cycles);
                thread.changing += cycles;
                self.compute_on(id, left);
            }
            State::Running if self.threads[id as usize].demand == Demand::Nothing => {
                self.threads[id as usize].owed += cycles;
            }
            _ => {}
        }
    }

    /// A computation loses its CPU: what it had still to stand still for a change of mode, it need not; what is left of a handler
    /// it pays when it goes on.
    pub(crate) fn forget_still(&mut self, id: ThreadId) {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        let still = thread.still_until.saturating_sub(now);
        let handler = still.min(std::mem::take(&mut thread.handling));
        (thread.due, thread.stolen) = (thread.due + handler, thread.stolen - handler);
        thread.changing -= (still - handler).min(thread.changing);
        thread.still_until = 0;
    }

    /// What the running thread asks of its core from now on.
    #[inline]
    pub(crate) fn demand(&mut self, demand: Demand) {
        if self.chip.core.contexts != 1 {
            let thread = &mut self.threads[self.running as usize];
            if thread.demand != demand {
                thread.demand = demand;
                self.share_core(self.core_of(self.running));
            }
        }
    }

    /// Gives the core's contexts their speeds anew; computations are re-rated.
    pub(crate) fn share_core(&mut self, core: CoreId) {
        if self.chip.core.contexts == 1 {
            return;
        }
        let Some(shares) = self.contexts.shares else { return };
        let mut demands = [Demand::Nothing; MOST];
        for (context, cpu) in self.contexts_of(core).enumerate() {
            if let Some(id) = self.on(cpu) {
                let thread = &self.threads[id as usize];
                if matches!(thread.state, State::Working(_) | State::Spinning | State::Running) {
                    demands[context] = thread.demand;
                }
            }
        }
        let speeds = shares.speeds(u64::from(self.contexts.counts[core.0 as usize]), &demands);
        for (context, cpu) in self.contexts_of(core).enumerate() {
            if demands[context] == Demand::Computes {
                self.set_speed(cpu, speeds[context]);
            }
        }
    }

    /// A CPU computes at another speed from now on, in 2^20ths of its core's.
    fn set_speed(&mut self, cpu: u32, speed: u64) {
        debug_assert!(speed <= ONE);
        if self.clocks.speed(cpu) == speed {
            return;
        }
        match self.on(cpu).map(|id| (id, self.threads[id as usize].state)) {
            Some((id, State::Working(until))) => {
                let left = self.rest_of(id, until);
                self.clocks.set_speed(cpu, speed);
                self.compute_on(id, left);
            }
            _ => self.clocks.set_speed(cpu, speed),
        }
    }

    /// A computation that was taken out of the queue's order goes on with what is left of it.
    pub(crate) fn compute_on(&mut self, id: ThreadId, left: crate::clock::Remaining) {
        let until = self.end_of(id, left);
        self.threads[id as usize].state = State::Working(until);
        self.queue.cancel(own(id));
        self.queue.put(own(id), until, Rank::Next);
    }
}
