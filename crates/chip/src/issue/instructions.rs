//! The algorithm's own instructions are charged: see [`instructions`](crate::core::instructions).

use crate::core::instructions::{Instructions, UNIT};
use crate::engine::current::{spend, with};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use baton_chipfile::config::CoresByKind;

impl Engine {
    /// The instructions to charge with each access on this chip: none if no core has a
    /// `core.width`.
    pub(crate) fn charge_of(cores: &CoresByKind, instructions: Instructions) -> Instructions {
        if cores.each().iter().all(|core| core.width == 0) { Instructions::NONE } else { instructions }
    }

    /// Counts `units` more instructions of the running thread. Returns the whole cycles that these
    /// take, with what was left of a cycle before.
    pub(crate) fn instructions(&mut self, units: u64) -> u64 {
        let a_cycle = UNIT * u64::from(self.core_here().width);
        if a_cycle == 0 {
            return 0;
        }
        let thread = &mut self.threads[self.running as usize];
        thread.stats.instructions += units;
        let all = u64::from(thread.pipeline.instructions) + units;
        thread.pipeline.instructions = (all % a_cycle) as u32;
        all / a_cycle
    }
}

/// The running thread executes the algorithm's own instructions that come before an access.
#[inline(always)]
pub(crate) fn before_access() {
    let units = with(|engine| engine.cores.own_instructions.access);
    if units != 0 {
        execute(units);
    }
}

/// The running thread executes `units` units of instructions.
pub(crate) fn execute(units: u64) {
    spend(Reason::Work, |engine| engine.instructions(units));
}
