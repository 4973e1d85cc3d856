//! Futex queues at fixed prices. They are the simulator's own, outside guest memory.

use super::{BUCKETS, bucket};
use crate::base::thread::ThreadId;

/// The kernel's queues, one per bucket.
pub(crate) struct Futexes {
    queues: Vec<Vec<(usize, ThreadId)>>,
}

impl Futexes {
    pub(crate) fn new() -> Futexes {
        Futexes { queues: vec![Vec::new(); BUCKETS] }
    }

    /// Adds the thread behind the other sleepers of the cell.
    pub(crate) fn queue(&mut self, offset: usize, thread: ThreadId) {
        self.queues[bucket(offset)].push((offset, thread));
    }

    /// Removes up to `n` sleepers of the cell, in order, and returns them. Later sleepers are not
    /// woken by the same system call.
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

    /// Moves up to `n` sleepers of a cell behind those of another cell. Returns the threads that
    /// were moved.
    pub(crate) fn move_to(&mut self, from: usize, to: usize, n: u32) -> Vec<ThreadId> {
        let moved = self.take(from, n);
        moved.iter().for_each(|&thread| self.queue(to, thread));
        moved
    }

    /// Removes the thread from the cell's queue, if it is there.
    pub(crate) fn forget(&mut self, offset: usize, thread: ThreadId) {
        self.queues[bucket(offset)].retain(|&(_, sleeper)| sleeper != thread);
    }
}
