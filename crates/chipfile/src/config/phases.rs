//! The coarse mode, `memory.model = "phases"`: computations are phases, whose rates follow from the
//! keys of caches, network and memory. `docs/reference/phases.md` describes the model.

use super::choice::choice;

/// The keys of the coarse mode, besides those of a coherent chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// The bank of the shared level that serves a phase.
    pub shared: SharedBy,
    /// How several phases divide the shared level.
    pub division: Division,
    /// Whether requests wait for each other at a memory controller.
    pub queueing: Queueing,
}

choice! {
    /// The bank of the shared level that serves a phase.
    SharedBy {
        /// The bank of the core's domain, as on processors with one last-level cache for each die.
        #[default] Cores = "cores",
        /// The bank at the home of the phase's pages, as in the coherent model.
        Homes = "homes",
    }
}
choice! {
    /// How several phases divide the shared level.
    Division {
        /// By least-recently-used replacement.
        #[default] Recency = "recency",
        /// In equal parts, by ways that are reserved.
        Even = "even",
    }
}
choice! {
    /// Whether requests wait for each other at a memory controller.
    Queueing {
        /// Requests wait for each other.
        #[default] MeanValue = "mean-value",
        /// Bandwidth is unlimited: to separate the effect of contention.
        None = "none",
    }
}
