//! Contexts of a core become active or cease to be; computations beside them are re-rated.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::contexts::share::{Demand, ONE};
use crate::core::window::Share;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use baton_chipfile::config::limits::MOST_CONTEXTS;
use baton_memory::Memory;
use baton_units::CoreId;

impl Engine {
    /// The CPUs of a core, in the order of its contexts.
    fn contexts_of(&self, core: CoreId) -> impl Iterator<Item = u32> + use<> {
        let count = self.chip.core.count;
        (0..self.chip.core.contexts).map(move |context| core.0 + context * count)
    }

    /// The number of the running thread's context within its core.
    #[inline]
    pub(crate) fn context(&self) -> u8 {
        (self.threads[self.running as usize].cpu / self.chip.core.count) as u8
    }

    /// The running thread leaves its CPU or runs a signal handler, so its load-linked no longer
    /// holds, as after a switch of threads on real cores.
    pub(crate) fn unlink(&mut self) {
        if self.cores.links {
            self.memory.unlink(self.core_of(self.running), self.context());
        }
    }

    /// The thread on a CPU.
    fn on(&self, cpu: u32) -> Option<ThreadId> {
        self.os.cpus.get(cpu as usize).and_then(|cpu| cpu.current)
    }

    /// The CPU's context becomes active. Returns the cycles of the reference for which it must wait
    /// while the core changes its mode.
    pub(crate) fn activate(&mut self, cpu: u32) -> u64 {
        if self.chip.core.contexts == 1 || std::mem::replace(&mut self.cores.contexts.active[cpu as usize], true) {
            return 0;
        }
        let core = self.chip.core_of(cpu);
        self.cores.contexts.counts[core.0 as usize] += 1;
        self.change_mode(core, cpu)
    }

    /// The CPU's context ceases to be active, and its share of the core goes to the other contexts.
    pub(crate) fn deactivate(&mut self, cpu: u32) {
        if self.chip.core.contexts == 1 || !std::mem::replace(&mut self.cores.contexts.active[cpu as usize], false) {
            return;
        }
        let core = self.chip.core_of(cpu);
        self.cores.contexts.counts[core.0 as usize] -= 1;
        self.change_mode(core, cpu);
    }

    /// The context of the CPU `changed` has become active or ceased to be: the core's other active
    /// contexts stand still while the core changes its mode, and all get new shares. Returns how
    /// long that takes, 0 if no other context is active.
    fn change_mode(&mut self, core: CoreId, changed: u32) -> u64 {
        let mut cycles = 0;
        for cpu in self.contexts_of(core).filter(|&cpu| cpu != changed) {
            if !self.cores.contexts.active[cpu as usize] {
                continue;
            }
            cycles = self.cores.clocks.whole(core, self.cores.kinds.of(core).mode_change.0);
            if let Some(id) = self.on(cpu) {
                self.stand_still(id, cycles);
            }
        }
        let of = self.cores.contexts.counts[core.0 as usize].max(1);
        for cpu in self.contexts_of(core) {
            self.set_share(cpu, Share { parts: 1, of });
        }
        self.share_core(core);
        cycles
    }

    /// A thread's context stands still for `cycles`: a computation ends that much later, and a
    /// thread in another operation waits before its next one. A spinning thread loses nothing.
    fn stand_still(&mut self, id: ThreadId, cycles: u64) {
        match self.threads[id as usize].state {
            ThreadState::Working(until) => {
                let left = self.rest_of(id, until);
                let thread = &mut self.threads[id as usize];
                thread.pace.put_off(self.now, cycles);
                thread.pace.changing += cycles;
                self.compute_on(id, left);
            }
            ThreadState::Running if self.threads[id as usize].pace.demand == Demand::Nothing => {
                self.threads[id as usize].pace.owed += cycles;
            }
            _ => {}
        }
    }

    /// A computation loses its CPU. The rest of a standstill for a change of mode is dropped; the
    /// rest of one for interrupt handlers is paid when the computation continues. A phase leaves
    /// its core.
    pub(crate) fn forget_still(&mut self, id: ThreadId) {
        self.leave_phase(id);
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        let still = thread.pace.still_until.saturating_sub(now);
        let handler = still.min(std::mem::take(&mut thread.pace.handling));
        (thread.os.due, thread.pace.stolen) = (thread.os.due + handler, thread.pace.stolen - handler);
        thread.pace.changing -= (still - handler).min(thread.pace.changing);
        thread.pace.still_until = 0;
    }

    /// Sets what the running thread demands of its core from now on.
    #[inline]
    pub(crate) fn demand(&mut self, demand: Demand) {
        if self.chip.core.contexts != 1 {
            let thread = &mut self.threads[self.running as usize];
            if thread.pace.demand != demand {
                thread.pace.demand = demand;
                self.share_core(self.core_of(self.running));
            }
        }
    }

    /// Computes the speeds of the core's contexts anew; their computations are re-rated.
    pub(crate) fn share_core(&mut self, core: CoreId) {
        if self.chip.core.contexts == 1 {
            return;
        }
        let Some(shares) = self.cores.contexts.shares[self.cores.kinds.kind(core) as usize] else { return };
        let mut demands = [Demand::Nothing; MOST_CONTEXTS];
        for (context, cpu) in self.contexts_of(core).enumerate() {
            if let Some(id) = self.on(cpu) {
                let thread = &self.threads[id as usize];
                if matches!(thread.state, ThreadState::Working(_) | ThreadState::Spinning | ThreadState::Running) {
                    demands[context] = thread.pace.demand;
                }
            }
        }
        let speeds = shares.speeds(u64::from(self.cores.contexts.counts[core.0 as usize]), &demands);
        for (context, cpu) in self.contexts_of(core).enumerate() {
            if demands[context] == Demand::Computes {
                self.set_speed(cpu, speeds[context]);
            }
        }
    }

    /// Sets the speed at which a CPU computes from now on, in 2^20ths of its core's.
    fn set_speed(&mut self, cpu: u32, speed: u64) {
        debug_assert!(speed <= ONE);
        if self.cores.clocks.speed(cpu) == speed {
            return;
        }
        match self.on(cpu).map(|id| (id, self.threads[id as usize].state)) {
            Some((id, ThreadState::Working(until))) => {
                let left = self.rest_of(id, until);
                self.cores.clocks.set_speed(cpu, speed);
                self.compute_on(id, left);
            }
            _ => self.cores.clocks.set_speed(cpu, speed),
        }
    }

    /// A thread's computation continues with `left` of its work, at its current rate: its end is
    /// queued anew.
    pub(crate) fn compute_on(&mut self, id: ThreadId, left: crate::clock::domain::Remaining) {
        let until = self.end_of(id, left);
        self.threads[id as usize].state = ThreadState::Working(until);
        self.queue.cancel(Event::thread(id));
        self.queue.put(Event::thread(id), until, Rank::Next);
    }
}
