//! The algorithm's own instructions between its accesses.
//!
//! Guest code runs on the host and takes no simulated time by itself, so what it executes between two accesses is
//! charged: each access of a guest comes with a number of instructions, which take `core.width` a cycle. The number is an
//! average over an algorithm's operation: `data/instructions.toml` has the instructions of its native build, counted by
//! callgrind, and the accesses that it makes; what is left after one instruction an access is spread over the accesses.
//! Fractions of a cycle are carried to the thread's next access.
//!
//! Tries of a wait are not charged: `wait.spin` and `wait.pause` are the price of what lies between them. A chip without
//! `core.width` charges nothing: its prices are measured around whole native loops, which have these instructions in them.

use crate::engine::Engine;
use crate::engine::current::{operate, with};
use crate::engine::thread::Reason;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Instructions are counted in this fraction of one.
pub(crate) const UNIT: u64 = 256;

/// Instructions of one line of a walk over a range: the load or store, the address, the compare and the branch of a loop
/// that is not unrolled.
pub(crate) const A_LINE: u32 = 4;

/// The instructions that come with each access of a guest, beside the access itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(u64);

/// An algorithm's row in the data file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Instructions of an operation's native build: for a lock, an uncontended pair of lock and unlock.
    pub instructions: f64,
    /// Accesses that the operation makes.
    pub accesses: u32,
}

/// The data file: by kind of algorithm (`lock`, `queue`) and name.
pub type Table = BTreeMap<String, BTreeMap<String, Counted>>;

/// All that was counted.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let read = || toml::from_str(include_str!("../../data/instructions.toml"));
    TABLE.get_or_init(|| read().unwrap_or_else(|error| panic!("the table of instructions that is built in: {error}")))
}

impl Counted {
    /// Instructions an access, in units, beside the access itself.
    fn beside(&self) -> u64 {
        let accesses = f64::from(self.accesses.max(1));
        ((self.instructions - accesses).max(0.0) / accesses * UNIT as f64).round() as u64
    }
}

impl Instructions {
    /// None at all.
    pub const NONE: Instructions = Instructions(0);

    /// Those of the algorithm of this kind and name, or, if it was not counted, what is typical.
    pub fn of(kind: &str, name: &str) -> Instructions {
        let counted = table().get(kind).and_then(|algorithms| algorithms.get(name));
        counted.map_or_else(Instructions::typical, |counted| Instructions(counted.beside()))
    }

    /// The median of all that were counted: for code that is no single algorithm.
    pub fn typical() -> Instructions {
        static MEDIAN: OnceLock<u64> = OnceLock::new();
        Instructions(*MEDIAN.get_or_init(|| {
            let mut all: Vec<u64> = table().values().flat_map(BTreeMap::values).map(Counted::beside).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or(0)
        }))
    }

    /// How many, on average.
    pub fn an_access(self) -> f64 {
        self.0 as f64 / UNIT as f64
    }
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions::typical()
    }
}

impl Engine {
    /// The instructions that an access brings with it on this chip, in units.
    pub(crate) fn charge_of(width: u32, instructions: Instructions) -> u64 {
        if width == 0 { 0 } else { instructions.0 }
    }

    /// Whole cycles that `units` more instructions of the running thread take.
    pub(crate) fn instructions(&mut self, units: u64) -> u64 {
        let a_cycle = UNIT * u64::from(self.chip.core.width);
        if a_cycle == 0 {
            return 0;
        }
        let thread = &mut self.threads[self.running as usize];
        let all = u64::from(thread.instructions) + units;
        thread.instructions = (all % a_cycle) as u32;
        all / a_cycle
    }
}

/// The running thread executes what lies before its next access.
#[inline(always)]
pub(crate) fn before_access() {
    let units = with(|engine| engine.own_instructions);
    if units != 0 {
        execute(units);
    }
}

/// The running thread executes instructions, given in units.
pub(crate) fn execute(units: u64) {
    let cycles = with(|engine| engine.instructions(units));
    if cycles != 0 {
        operate(Reason::Work, |engine| engine.after(cycles));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_tells_algorithms_apart() {
        assert!(table()["lock"].len() >= 11, "{:?}", table()["lock"].keys());
        for (kind, algorithms) in table() {
            for (name, counted) in algorithms {
                assert!(counted.accesses > 0 && counted.instructions > f64::from(counted.accesses), "{kind} {name}");
                let beside = Instructions::of(kind, name).an_access();
                let whole = (beside + 1.0) * f64::from(counted.accesses);
                assert!((whole - counted.instructions).abs() < 0.1, "{kind} {name}: {whole}");
            }
        }
        assert!(Instructions::of("lock", "cohort") != Instructions::of("lock", "ttas"));
        assert_eq!(Instructions::of("lock", "none of that name"), Instructions::typical());
        assert!(Instructions::typical() != Instructions::NONE);
    }
}
