//! Who sleeps on which cell. Sleepers of a cell are woken in the order in which they came.

use crate::engine::thread::ThreadId;

/// Buckets, as many as the native table has: a waker looks at one bucket's count before it enters the kernel.
pub(crate) const BUCKETS: usize = 256;
/// Each bucket alone in its pair of lines, as in the native table.
pub(crate) const BUCKET_BYTES: usize = 128;

/// The kernel's queues, one a bucket.
pub(crate) struct Futexes {
    queues: Vec<Vec<(usize, ThreadId)>>,
}

/// The bucket of the cell at `offset` in guest memory.
pub(crate) fn bucket(offset: usize) -> usize {
    ((offset as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % BUCKETS
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

    /// Takes the thread out of the cell's queue, if it is there.
    pub(crate) fn forget(&mut self, offset: usize, thread: ThreadId) {
        self.queues[bucket(offset)].retain(|&(_, sleeper)| sleeper != thread);
    }
}
