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
    /// Iterations by which an addition to the loop's counter takes the next chunk; 0: chunks are taken otherwise.
    pub stride: u64,
    /// By how many bits a chunk's first iteration is shifted to find the word of the chunk's turn.
    pub turn_shift: u32,
}

impl Work {
    /// Adds what follows from the rest in a team of `threads`.
    #[inline]
    pub(crate) fn fit(&mut self, threads: u32) {
        if self.ordered {
            self.turn_shift = self.shift(threads);
        }
        if self.schedule.kind == ScheduleKind::Dynamic {
            self.stride = self.stride(threads);
        }
    }

    /// Iterations by which each thread of a team of `threads` can advance the counter of this dynamic loop with one addition: the loop's chunk.
    /// Zero: the counter could overflow when each thread has found the loop's end.
    #[inline]
    fn stride(&self, threads: u32) -> u64 {
        let chunk = self.schedule.chunk.max(1);
        let beyond = chunk.checked_mul(u64::from(threads)).and_then(|beyond| beyond.checked_add(self.space.count));
        if beyond.is_some() { chunk } else { 0 }
    }

    /// The bits of an iteration's number that differ only within a chunk, or fewer.
    fn shift(&self, threads: u32) -> u32 {
        // A static schedule without a chunk's length gives each thread one chunk.
        let chunk = match self.schedule.chunk {
            0 => self.space.count.div_ceil(u64::from(threads)),
            chunk => chunk,
        };
        chunk.max(1).ilog2()
    }
}
