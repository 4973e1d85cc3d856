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
//! | [`pace`] | what a thread asks for, and for how long it stands still |
//! | [`share`] | the calculation: window, partition, slots |

pub(crate) mod pace;
pub(crate) mod share;

use baton_chipfile::config::{Chip, CoresByKind};
use share::Shares;

/// Which contexts are active.
pub(crate) struct Contexts {
    /// By kind of core.
    pub(crate) shares: Vec<Option<Shares>>,
    /// By CPU.
    pub(crate) active: Vec<bool>,
    /// By core: how many.
    pub(crate) counts: Vec<u32>,
}

impl Contexts {
    pub(crate) fn of(chip: &Chip, kinds: &CoresByKind) -> Contexts {
        let (cpus, cores) = (chip.cpus() as usize, chip.core.count as usize);
        let shares = kinds.each().iter().map(Shares::of).collect();
        Contexts { shares, active: vec![false; cpus], counts: vec![0; cores] }
    }
}
