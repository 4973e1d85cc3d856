//! What the cores of each kind have, worked out from the chip and what its kinds have of their own.

use super::chip::Chip;
use super::coherent::Level;
use super::cores::Core;
use super::keys::find;
use baton_units::{CoreId, Hertz};

/// A core's private caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Private {
    /// The first level.
    pub l1: Level,
    /// The second one, on a chip that has it.
    pub l2: Option<Level>,
}

impl Private {
    /// The last level before the network.
    pub fn outer(&self) -> Level {
        self.l2.unwrap_or(self.l1)
    }
}

/// Cores by their kind.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresByKind {
    /// What a core of each kind has; first what cores without a kind have. Of `clock`: what it begins with, where `core.clocks`
    /// does not name it.
    all: Vec<Core>,
    /// The private caches of each kind, in that order; none on a chip of fixed latencies.
    caches: Vec<Private>,
    /// The kind of each core.
    of: Vec<u32>,
}

impl CoresByKind {
    /// Those of a chip.
    pub fn new(chip: &Chip) -> CoresByKind {
        let own = |number: usize| {
            let mut chip = chip.clone();
            for (path, value) in std::mem::take(&mut chip.core.kinds.0).swap_remove(number).own {
                if let Some(key) = find(path) {
                    key.set(&mut chip, value);
                }
            }
            chip
        };
        let kinds: Vec<Chip> = std::iter::once(chip.clone()).chain((0..chip.core.kinds.0.len()).map(own)).collect();
        let private = |chip: &Chip| chip.coherent.as_ref().map(|coherent| Private { l1: coherent.l1, l2: coherent.l2 });
        CoresByKind {
            caches: if chip.coherent.is_some() { kinds.iter().filter_map(private).collect() } else { Vec::new() },
            all: kinds.into_iter().map(|chip| chip.core).collect(),
            of: chip.core.kinds.of_cores(chip.core.count),
        }
    }

    /// All cores are alike, apart from their clocks.
    #[inline(always)]
    pub fn are_alike(&self) -> bool {
        self.all.len() == 1
    }

    /// What cores have that are of no kind: all, on a chip without kinds.
    #[inline(always)]
    pub fn common(&self) -> &Core {
        &self.all[0]
    }

    /// What a core has.
    #[inline]
    pub fn of(&self, core: CoreId) -> &Core {
        &self.all[self.kind(core) as usize]
    }

    /// The private caches of a core of a coherent chip.
    pub fn caches(&self, core: CoreId) -> &Private {
        &self.caches[self.kind(core) as usize]
    }

    /// The private caches of each kind, as [`each`](CoresByKind::each).
    pub fn each_caches(&self) -> &[Private] {
        &self.caches
    }

    /// The kind of a core: its place in the chip file, from 1; 0 for none.
    #[inline]
    pub fn kind(&self, core: CoreId) -> u32 {
        self.of[core.0 as usize]
    }

    /// One core of each kind, first those of none.
    pub fn each(&self) -> &[Core] {
        &self.all
    }

    /// The clock that a core begins with.
    pub fn clock(&self, core: CoreId) -> Hertz {
        self.common().clocks.of(core.0).unwrap_or(self.of(core).clock)
    }
}
