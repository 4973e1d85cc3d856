//! The instructions of an algorithm between its accesses.
//!
//! Guest code runs on the host and takes no simulated time by itself, so the instructions that it
//! executes between two accesses are charged. Each access of a guest comes with a number of
//! instructions, at `core.width` per cycle. The number is an average over an operation of the
//! algorithm: the registry has the instructions of the native build, counted by callgrind, and the
//! number of accesses ([`Counted`]). One instruction per access belongs to the access; the others
//! are spread over the accesses. Fractions of a cycle are carried over to the thread's next access.
//!
//! Rows of slots are copied as ranges. Their instructions are charged per slot, spread over the
//! lines ([`CountedBulk`]).
//!
//! Tries of a wait are not charged, because `wait.spin` and `wait.pause` include the instructions
//! of an iteration of the spin loop. A chip without `core.width` charges nothing: its prices were
//! measured around whole native loops and include these instructions.

use baton_machine::{Counted, CountedBulk};

/// The unit of counted instructions is one over this number.
pub(crate) const UNIT: u64 = 256;

/// The instructions per line of a walk over a range: load or store, address, compare and branch of
/// a loop that is not unrolled.
pub(crate) const A_LINE: u32 = 4;

/// The instructions of a try of a wait besides its load: compare, branch, and PAUSE or what stands
/// for it.
pub(crate) const A_TRY: u64 = 3;

/// The instructions that come with each access of a guest besides the access itself, in units, and
/// the instructions for each slot of a row that is copied in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    pub(crate) access: u64,
    pub(crate) slot: u64,
}

impl Instructions {
    /// No instructions.
    pub const NONE: Instructions = Instructions { access: 0, slot: 0 };

    /// Near the median over locks and queues, for code that is not a single algorithm.
    pub const TYPICAL: Instructions = Instructions { access: 4 * UNIT + UNIT / 2, slot: UNIT };

    /// The instructions of an algorithm.
    pub fn of(counted: Counted) -> Instructions {
        let accesses = f64::from(counted.accesses.max(1));
        let access = ((counted.instructions - accesses).max(0.0) / accesses * UNIT as f64).round() as u64;
        Instructions { access, ..Instructions::TYPICAL }
    }

    /// The instructions of a queue through which items go in bulk.
    pub fn of_bulk(counted: CountedBulk) -> Instructions {
        // An item is copied twice: in and out.
        Instructions { slot: (counted.item / 2.0 * UNIT as f64).round() as u64, ..Instructions::of(counted.call) }
    }

    /// The average number of instructions that come with each access, besides the access itself.
    pub fn an_access(self) -> f64 {
        self.access as f64 / UNIT as f64
    }
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions::TYPICAL
    }
}
