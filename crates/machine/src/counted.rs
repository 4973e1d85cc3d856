//! Counted costs of an algorithm's operations.

/// The average cost of one operation of an algorithm: an uncontended lock and unlock, the passage
/// of an item through a queue, an episode of a barrier with eight participants at two nodes, or an
/// event's wait that is notified before it sleeps. `instructions` includes the accesses. A wait
/// counts as its first read of the cell only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Instructions of the native build on x86-64, counted by callgrind
    /// (`scripts/check/sync-instructions`).
    pub instructions: f64,
    /// Accesses to the machine's memory (`cargo test -p baton-chip --test memory charging::`).
    pub accesses: u32,
}

/// The average cost of moving several items at once into a queue and out again, for queues that
/// move them as a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedBulk {
    /// Cost of the two calls, whatever they move: excludes the copying and the accesses to the
    /// items.
    pub call: Counted,
    /// Instructions for each item, beside those of the calls.
    pub item: f64,
}

impl CountedBulk {
    /// Instructions to move `items` items in and out.
    pub fn of(&self, items: usize) -> f64 {
        self.call.instructions + self.item * items as f64
    }
}
