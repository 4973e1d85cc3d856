//! What one operation of an algorithm takes.

/// What one operation of an algorithm takes on average: a lock's uncontended pair of lock and unlock, an item's way through a
/// queue, an episode of a barrier for eight participants at two nodes, an event's wait that is notified before it sleeps. The
/// accesses are among the instructions. Of a wait the first look is counted, and no more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// Instructions of the native build on x86-64, counted by callgrind (`scripts/check/sync-instructions`).
    pub instructions: f64,
    /// Accesses to the machine's memory (`cargo test -p baton-chip --test memory charging::`).
    pub accesses: u32,
}

/// What a bulk of items takes on average on its way through a queue, in and out, where calls move it as a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedBulk {
    /// The two calls, whatever they move: without the copying, and without the accesses to the items.
    pub call: Counted,
    /// Instructions for each item.
    pub item: f64,
}

impl CountedBulk {
    /// Instructions for so many items.
    pub fn of(&self, items: usize) -> f64 {
        self.call.instructions + self.item * items as f64
    }
}
