//! Phases, as guests ask for them.

use super::kernel::compute;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{running, with};
use crate::engine::state::Engine;
use baton_machine::Behaviour;
use std::sync::Arc;

/// Executes `instructions` instructions with a behaviour, on a chip in the coarse mode. Returns
/// whether the chip is in that mode.
pub(super) fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> bool {
    if with(|engine| engine.phases.is_none()) {
        return false;
    }
    if running() != OUTSIDE && instructions != 0 {
        compute(|engine| engine.begin_phase(behaviour, instructions), Engine::end_phase);
    }
    true
}
