//! Hardware contexts of a core (SMT): the share of the core that each context has, depending on
//! what its siblings do.
//!
//! A context is **active** while a thread is on its CPU and the CPU does not stand still. A thread
//! that waits in a monitor or is halted, and a CPU without a thread, give their share back. A
//! thread that spins, with PAUSE or without, keeps its share. Active contexts divide the store
//! buffer, the window and the load and store queues evenly, and share issue slots cycle by cycle.
//! Caches and outstanding misses belong to the core. When a context becomes active beside another
//! one, or one of several ceases to be active, the core changes its mode: for `core.mode_change`
//! cycles none of its contexts proceeds.
//!
//! No number here slows a thread down by itself: [`share`] computes how fast a computation is
//! within its share. A context states what it demands when it begins to compute or to spin
//! ([`Engine::demand`]). Computations of its siblings are then re-rated to the cycle, as they are
//! when a clock changes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`pace`] | what a thread demands of its core, and for how long it stands still |
//! | [`share`] | the calculation: window, partition, slots |

pub(crate) mod pace;
pub(crate) mod share;

use baton_chipfile::config::{Chip, CoresByKind};
use share::Shares;

pub(crate) struct Contexts {
    /// For each kind of core, its resources; `None` if contexts share nothing.
    pub(crate) shares: Vec<Option<Shares>>,
    /// Whether the context of each CPU is active.
    pub(crate) active: Vec<bool>,
    /// For each core, the number of active contexts.
    pub(crate) counts: Vec<u32>,
}

impl Contexts {
    pub(crate) fn of(chip: &Chip, kinds: &CoresByKind) -> Contexts {
        let (cpus, cores) = (chip.cpus() as usize, chip.core.count as usize);
        let shares = kinds.each().iter().map(Shares::of).collect();
        Contexts { shares, active: vec![false; cpus], counts: vec![0; cores] }
    }
}
