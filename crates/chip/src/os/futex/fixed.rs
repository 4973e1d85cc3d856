//! Queues at fixed prices: the simulator's own, outside guest memory.

use super::{BUCKETS, bucket};
use crate::base::thread::ThreadId;

/// The kernel's queues, one a bucket.
pub(crate) struct Futexes {
    queues: Vec<Vec<(usize, ThreadId)>>,
}

impl Futexes {
    pub(crate) fn new() -> Futexes {
        Futexes { queues: vec![Vec::new(); BUCKETS] }
    }

    /// Puts the thread behind the others of the cell.
    pub(crate) fn queue(&mut self, offset: usize, thread: ThreadId) {
        self.queues[bucket(offset)].push((offset, thread));
    }

    /// Takes up to `n` sleepers of the cell, all that one call wakes: who comes while it works is not among them.
    pub(crate) fn take(&mut self, offset: usize, n: u32) -> Vec<ThreadId> {
        let mut taken = Vec::new();
        self.queues[bucket(offset)].retain(|&(cell, thread)| {
            let takes = cell == offset && taken.len() < n as usize;
            if takes {
                taken.push(thread);
            }
            !takes
        });
        taken
    }

    /// Moves up to `n` sleepers of a cell behind those of another; who they are.
    pub(crate) fn move_to(&mut self, from: usize, to: usize, n: u32) -> Vec<ThreadId> {
        let moved = self.take(from, n);
        moved.iter().for_each(|&thread| self.queue(to, thread));
        moved
    }

    /// Takes the thread out of the cell's queue, if it is there.
    pub(crate) fn forget(&mut self, offset: usize, thread: ThreadId) {
        self.queues[bucket(offset)].retain(|&(_, sleeper)| sleeper != thread);
    }
}
