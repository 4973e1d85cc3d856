//! What the cores of each kind have, worked out from the chip and what its kinds have of their own.

use super::chip::Chip;
use super::cores::Core;
use super::keys::find;
use baton_units::{CoreId, Hertz};

/// Cores by their kind.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresByKind {
    /// What a core of each kind has; first what cores without a kind have. Of `clock`: what it begins with, where `core.clocks`
    /// does not name it.
    all: Vec<Core>,
    /// The kind of each core.
    of: Vec<u32>,
}

impl CoresByKind {
    /// Those of a chip.
    pub fn new(chip: &Chip) -> CoresByKind {
        let kind = |number: usize| {
            let mut chip = chip.clone();
            for (path, value) in std::mem::take(&mut chip.core.kinds.0).swap_remove(number).own {
                if let Some(key) = find(path) {
                    key.set(&mut chip, value);
                }
            }
            chip.core
        };
        let kinds = 0..chip.core.kinds.0.len();
        CoresByKind {
            all: std::iter::once(chip.core.clone()).chain(kinds.map(kind)).collect(),
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
