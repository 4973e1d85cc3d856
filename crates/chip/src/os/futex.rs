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

    /// Takes the first sleeper of the cell.
    pub(crate) fn take(&mut self, offset: usize) -> Option<ThreadId> {
        let queue = &mut self.queues[bucket(offset)];
        let at = queue.iter().position(|&(cell, _)| cell == offset)?;
        Some(queue.remove(at).1)
    }

    /// Takes the thread out, wherever it is; whether it was in a queue.
    pub(crate) fn forget(&mut self, thread: ThreadId) -> bool {
        for queue in &mut self.queues {
            if let Some(at) = queue.iter().position(|&(_, sleeper)| sleeper == thread) {
                queue.remove(at);
                return true;
            }
        }
        false
    }
}
