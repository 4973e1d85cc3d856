//! The cores of each kind: the chip's common values, replaced by the kind's own where it has any.

use super::chip::Chip;
use super::coherent::Level;
use super::cores::Core;
use super::keys::find;
use baton_units::{CoreId, Hertz};

/// The private caches of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Private {
    /// The first level.
    pub l1: Level,
    /// The private second level, if the chip has one.
    pub l2: Option<Level>,
}

impl Private {
    /// The last level before the network.
    pub fn outer(&self) -> Level {
        self.l2.unwrap_or(self.l1)
    }
}

/// The cores of a chip by kind.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresByKind {
    /// The values of each kind; first those of cores without a kind. The `clock` is the one that a
    /// core begins with unless `core.clocks` names it.
    all: Vec<Core>,
    /// The private caches of each kind, in the same order; empty on a chip of fixed latencies.
    caches: Vec<Private>,
    /// The kind of each core, by core number.
    of: Vec<u32>,
}

impl CoresByKind {
    /// The kinds of a chip.
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

    /// Whether all cores are alike, apart from their clocks.
    #[inline(always)]
    pub fn are_alike(&self) -> bool {
        self.all.len() == 1
    }

    /// The values of cores without a kind; on a chip without kinds, of all cores.
    #[inline(always)]
    pub fn common(&self) -> &Core {
        &self.all[0]
    }

    /// The values of a core.
    #[inline]
    pub fn of(&self, core: CoreId) -> &Core {
        &self.all[self.kind(core) as usize]
    }

    /// The private caches of a core of a coherent chip.
    pub fn caches(&self, core: CoreId) -> &Private {
        &self.caches[self.kind(core) as usize]
    }

    /// The private caches of each kind, in the order of [`each`](CoresByKind::each).
    pub fn each_caches(&self) -> &[Private] {
        &self.caches
    }

    /// Returns the kind of a core: its position in the chip file, from 1, or 0 for a core that no
    /// kind names.
    #[inline]
    pub fn kind(&self, core: CoreId) -> u32 {
        self.of[core.0 as usize]
    }

    /// The values of one core of each kind; first of cores without a kind.
    pub fn each(&self) -> &[Core] {
        &self.all
    }

    /// Returns the clock of a core at the start of a run.
    pub fn clock(&self, core: CoreId) -> Hertz {
        self.common().clocks.of(core.0).unwrap_or(self.of(core).clock)
    }
}
