//! The loads of the study: threads at a queue, each load by its name.

use crate::kit::Draw;

/// What the threads of a load do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moves {
    /// This many threads empty a queue that was filled before.
    Dequeue(u32),
    /// This many threads fill an empty queue.
    Enqueue(u32),
    /// This many producers and as many consumers, with this bulk.
    Pairs(u32, usize),
}

/// A load: its name, and what its threads do at the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) moves: Moves,
}

impl Draw for Load {
    fn name(&self) -> &str {
        self.name
    }
}

const fn load(name: &'static str, moves: Moves) -> Load {
    Load { name, moves }
}

use Moves::{Dequeue, Enqueue, Pairs};

/// Every load.
pub(super) const LOADS: [Load; 22] = [
    load("dequeue 1", Dequeue(1)),
    load("dequeue 2", Dequeue(2)),
    load("dequeue 4", Dequeue(4)),
    load("dequeue 8", Dequeue(8)),
    load("dequeue 16", Dequeue(16)),
    load("enqueue 2", Enqueue(2)),
    load("enqueue 4", Enqueue(4)),
    load("enqueue 8", Enqueue(8)),
    load("enqueue 16", Enqueue(16)),
    load("1-1 bulk 1", Pairs(1, 1)),
    load("1-1 bulk 2", Pairs(1, 2)),
    load("1-1 bulk 4", Pairs(1, 4)),
    load("1-1 bulk 8", Pairs(1, 8)),
    load("1-1 bulk 16", Pairs(1, 16)),
    load("1-1 bulk 32", Pairs(1, 32)),
    load("2-2 bulk 1", Pairs(2, 1)),
    load("2-2 bulk 2", Pairs(2, 2)),
    load("2-2 bulk 4", Pairs(2, 4)),
    load("2-2 bulk 8", Pairs(2, 8)),
    load("2-2 bulk 32", Pairs(2, 32)),
    load("4-4 bulk 8", Pairs(4, 8)),
    load("8-8 bulk 8", Pairs(8, 8)),
];

/// The paper's bulks.
pub(super) const BULKS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// The loads of figures 7 and 8, over which the abstract claims gains of 2 to 12 times.
pub(super) const QUEUES: [&str; 11] = [
    "1-1 bulk 1",
    "1-1 bulk 2",
    "1-1 bulk 4",
    "1-1 bulk 8",
    "1-1 bulk 16",
    "1-1 bulk 32",
    "2-2 bulk 1",
    "2-2 bulk 2",
    "2-2 bulk 4",
    "2-2 bulk 8",
    "8-8 bulk 8",
];

/// The arms: the paper's ring in the right mode; another queue in memory (`spsc` or `mpmc`); the device; the device and prepush.
pub(super) const ARMS: [&str; 4] = ["ring", "software", "qmd", "caf"];
/// The indices of the arms.
pub(super) const RING: usize = 0;
pub(super) const SOFTWARE: usize = 1;
pub(super) const QMD: usize = 2;
pub(super) const CAF: usize = 3;
