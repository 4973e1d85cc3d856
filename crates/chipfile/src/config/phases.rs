//! The coarse mode, `memory.model = "phases"`: computations are phases, whose rates follow from the keys of caches, network and
//! memory. `docs/reference/phases.md` has the model.

use super::choice::choice;

/// What the coarse mode has beside the keys of a coherent chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Which bank of the shared level serves a phase.
    pub shared: SharedBy,
    /// What of the shared level each of several phases has.
    pub division: Division,
    /// Whether requests wait for each other at a memory controller.
    pub queueing: Queueing,
}

choice! {
    /// Which bank of the shared level serves a phase.
    SharedBy {
        /// That of its core's domain, as on processors with a last-level cache a die.
        #[default] Cores = "cores",
        /// That of its pages' home, as the coherent model has it.
        Homes = "homes",
    }
}
choice! {
    /// What of the shared level each of several phases has.
    Division {
        /// What least-recently-used replacement leaves it.
        #[default] Recency = "recency",
        /// An equal part, by ways that are kept apart.
        Even = "even",
    }
}
choice! {
    /// Whether requests wait for each other at a memory controller.
    Queueing {
        /// They do.
        #[default] MeanValue = "mean-value",
        /// Bandwidth is without bound: for telling what contention does.
        None = "none",
    }
}
