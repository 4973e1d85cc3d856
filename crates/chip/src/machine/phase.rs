//! Phases, as guests ask for them.

use super::kernel::compute;
use crate::base::thread::OUTSIDE;
use crate::engine::current::{running, with};
use crate::engine::state::Engine;
use baton_machine::Behaviour;
use std::sync::Arc;

/// Computes for so many instructions of that behaviour, on a chip that plays phases; whether it is one.
pub(super) fn phase(behaviour: &Arc<Behaviour>, instructions: u64) -> bool {
    if with(|engine| engine.phases.is_none()) {
        return false;
    }
    if running() != OUTSIDE && instructions != 0 {
        compute(|engine| engine.begin_phase(behaviour, instructions), Engine::end_phase);
    }
    true
}
