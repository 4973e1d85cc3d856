//! What a work-share was said to be.

use crate::space::{Schedule, ScheduleKind, Space};

/// What the first thread says of a work-share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Its iterations.
    pub space: Space,
    /// How they are handed out.
    pub schedule: Schedule,
    /// Memory that the threads share until all have left, if any: address and bytes.
    pub memory: (usize, usize),
    /// What the interface registered for reductions over tasks: an address, or zero.
    pub reductions: usize,
    /// Where in that memory the record of a doacross loop is; zero: it is none.
    pub doacross: usize,
    /// Whether it is a loop whose chunks may wait for their turn.
    pub ordered: bool,
}

impl Work {
    /// Iterations by which each thread of a team of `threads` can advance the counter of this loop with one addition: the chunk of a dynamic
    /// loop that is not ordered. Zero: the schedule is another one, or the counter could overflow when each thread has found the loop's end.
    pub(crate) fn stride(&self, threads: u32) -> u64 {
        let chunk = self.schedule.chunk.max(1);
        if self.schedule.kind != ScheduleKind::Dynamic || self.ordered {
            return 0;
        }
        let beyond = chunk.checked_mul(u64::from(threads)).and_then(|beyond| beyond.checked_add(self.space.count));
        if beyond.is_some() { chunk } else { 0 }
    }
}
