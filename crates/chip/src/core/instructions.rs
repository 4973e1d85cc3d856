//! The algorithm's own instructions between its accesses.
//!
//! Guest code runs on the host and takes no simulated time by itself, so what it executes between two accesses is
//! charged: each access of a guest comes with a number of instructions, which take `core.width` a cycle. The number is an
//! average over an algorithm's operation: its registry has the instructions of its native build, counted by callgrind, and the
//! accesses that it makes ([`Counted`]); what is left after one instruction an access is spread over the accesses.
//! Fractions of a cycle are carried to the thread's next access.
//!
//! Rows of slots are copied as ranges: their instructions are charged by the slot, spread over the lines ([`CountedBulk`]).
//!
//! Tries of a wait are not charged: `wait.spin` and `wait.pause` are the price of what lies between them. A chip without
//! `core.width` charges nothing: its prices are measured around whole native loops, which have these instructions in them.

use baton_machine::{Counted, CountedBulk};

/// Instructions are counted in this fraction of one.
pub(crate) const UNIT: u64 = 256;

/// Instructions of one line of a walk over a range: the load or store, the address, the compare and the branch of a loop
/// that is not unrolled.
pub(crate) const A_LINE: u32 = 4;

/// Instructions of a try of a wait beside its load: the comparison, the branch, and PAUSE or what stands for it.
pub(crate) const A_TRY: u64 = 3;

/// The instructions that come with each access of a guest, beside the access itself, in units; and those of each slot of a row that
/// is copied, in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    pub(crate) access: u64,
    pub(crate) slot: u64,
}

impl Instructions {
    /// None at all.
    pub const NONE: Instructions = Instructions { access: 0, slot: 0 };

    /// What is typical: the median of the locks and queues, for code that is no single algorithm.
    pub const TYPICAL: Instructions = Instructions { access: 4 * UNIT + UNIT / 2, slot: UNIT };

    /// Those of an algorithm.
    pub fn of(counted: Counted) -> Instructions {
        let accesses = f64::from(counted.accesses.max(1));
        let access = ((counted.instructions - accesses).max(0.0) / accesses * UNIT as f64).round() as u64;
        Instructions { access, ..Instructions::TYPICAL }
    }

    /// Those of a queue through which items go in bulk.
    pub fn of_bulk(counted: CountedBulk) -> Instructions {
        // An item is copied twice: in and out.
        Instructions { slot: (counted.item / 2.0 * UNIT as f64).round() as u64, ..Instructions::of(counted.call) }
    }

    /// How many, on average.
    pub fn an_access(self) -> f64 {
        self.access as f64 / UNIT as f64
    }
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions::TYPICAL
    }
}
