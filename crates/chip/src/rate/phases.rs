//! Phases of the coarse mode: computations whose rate depends on what runs beside them. When a
//! phase begins or ends, loses its CPU or comes to another, all phases that run are re-rated, as
//! they are when a clock changes.

use crate::base::thread::ThreadId;
use crate::clock::domain::Remaining;
use crate::engine::state::Engine;
use crate::engine::thread::ThreadState;
use baton_machine::Behaviour;
use baton_memory::phases::state::INSTRUCTION;
use std::sync::Arc;

impl Engine {
    /// The running thread begins a phase. Returns the end of the phase.
    pub(crate) fn begin_phase(&mut self, behaviour: &Arc<Behaviour>, instructions: u64) -> u64 {
        let (id, units) = (self.running, u128::from(instructions) * u128::from(INSTRUCTION));
        let core = self.core_of(id);
        if let Some(phases) = &mut self.phases {
            phases.begin(id, core, behaviour, units);
        }
        self.end_of(id, Remaining::of_phase(units))
    }

    /// The running thread's phase is over.
    pub(crate) fn end_phase(&mut self) {
        let id = self.running;
        self.leave_phase(id);
        if let Some(phases) = &mut self.phases {
            phases.end(id);
        }
    }

    /// A thread comes to a CPU with `left` of its computation. Returns what is left there: for a
    /// thread in a phase, this includes fetching again the lines that it has lost.
    #[inline]
    pub(super) fn come_to_phase(&mut self, id: ThreadId, left: Remaining) -> Remaining {
        let Some(phases) = &mut self.phases else { return left };
        if !phases.is_in(id) || phases.core_of(id).is_some() {
            return left;
        }
        let core = self.threads[id as usize].core;
        let units = phases.come(id, core, left.units());
        self.re_rate_phases(Some(id));
        let Some(phases) = &mut self.phases else { return left };
        let fetch = phases.fetch(core, &self.cores.clocks.clocks);
        let rate = self.cores.clocks.phase_rate(core.0);
        Remaining::of_phase(units + u128::from(fetch) * u128::from(rate))
    }

    /// Stops a thread's phase on its core, if the thread is in one.
    pub(super) fn leave_phase(&mut self, id: ThreadId) {
        let Some(phases) = &mut self.phases else { return };
        let Some(core) = phases.core_of(id) else { return };
        phases.leave(id);
        self.cores.clocks.set_phase_rate(core.0, 0);
        self.re_rate_phases(None);
    }

    /// Whether a thread is in a phase.
    pub(super) fn is_in_phase(&self, id: ThreadId) -> bool {
        self.phases.as_ref().is_some_and(|phases| phases.is_in(id))
    }

    /// Computes the rates of all running phases anew. Their computations continue at the new rates,
    /// except that of the thread `new`, which is about to begin.
    pub(super) fn re_rate_phases(&mut self, new: Option<ThreadId>) {
        let Some(phases) = &mut self.phases else { return };
        for (core, rate) in phases.rates(&self.cores.clocks.clocks) {
            if self.cores.clocks.phase_rate(core.0) == rate {
                continue;
            }
            let id = self.phases.as_ref().and_then(|phases| phases.on(core)).filter(|&id| Some(id) != new);
            match id.map(|id| (id, self.threads[id as usize].state)) {
                Some((id, ThreadState::Working(until))) => {
                    let left = self.rest_of(id, until);
                    self.cores.clocks.set_phase_rate(core.0, rate);
                    self.compute_on(id, left);
                }
                _ => self.cores.clocks.set_phase_rate(core.0, rate),
            }
        }
    }
}
