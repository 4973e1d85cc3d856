//! What one operation of an algorithm takes.

/// What one operation of an algorithm takes on average: a lock's uncontended pair of lock and unlock, an item's way through a
/// queue. The accesses are among the instructions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Instructions of the native build on x86-64, counted by callgrind (`scripts/sync-instructions.sh`).
    pub instructions: f64,
    /// Accesses to the machine's memory (`cargo test -p baton-chip --test memory charging::`).
    pub accesses: u32,
}
