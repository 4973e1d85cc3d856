//! The description of a work-share.

use crate::space::{Schedule, ScheduleKind, Space};
use baton_machine::Machine;

/// What the first thread stores about a work-share, for all threads of the team.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// The iterations that the threads share out.
    pub space: Space,
    /// How the iterations are handed out.
    pub schedule: Schedule,
    /// Memory that the threads share until all have left the work-share: its address and size; zero
    /// if there is none.
    pub memory: (usize, usize),
    /// The address that was registered for reductions over tasks, or zero.
    pub reductions: usize,
    /// The address, in that memory, of the record of a doacross loop; zero if it is no such loop.
    pub doacross: usize,
    /// Whether the work-share is a loop whose chunks may wait for their turn.
    pub ordered: bool,
    /// How much an addition to the loop's counter takes: the iterations of a chunk. 0: the next
    /// chunk is taken by compare-and-exchange, or the schedule is not dynamic.
    pub stride: u64,
    /// By how many bits a chunk's first iteration is shifted to find the word of the chunk's turn.
    pub turn_shift: u32,
}

impl Work {
    /// Tells a checker of races that threads that come to the work-share's memory later, or free it,
    /// come after the calling thread.
    pub fn happens_before<M: Machine>(&self) {
        if self.memory.0 != 0 {
            M::happens_before(core::ptr::without_provenance(self.memory.0));
        }
    }

    /// See [`happens_before`](Work::happens_before).
    pub fn happens_after<M: Machine>(&self) {
        if self.memory.0 != 0 {
            M::happens_after(core::ptr::without_provenance(self.memory.0));
        }
    }

    /// Whether the schedule divides the iterations beforehand.
    #[inline]
    pub(crate) fn is_static(&self) -> bool {
        matches!(self.schedule.kind, ScheduleKind::Static | ScheduleKind::Auto)
    }

    /// Sets the fields that follow from the others, for a team of `threads`. The work may be ordered
    /// only if `ORDERED` says so.
    #[inline(always)]
    pub(crate) fn fit<const ORDERED: bool>(&mut self, threads: u32) {
        if ORDERED && self.ordered {
            self.turn_shift = self.shift(threads);
        }
        if self.schedule.kind == ScheduleKind::Dynamic {
            self.stride = self.stride(threads);
        }
    }

    /// The iterations that each thread of a team of `threads` may take by adding to the counter of
    /// this dynamic loop: those of a chunk. Zero if the counter could overflow when each thread
    /// adds once more at the loop's end.
    #[inline]
    fn stride(&self, threads: u32) -> u64 {
        let chunk = self.schedule.chunk.max(1);
        let beyond = chunk.checked_mul(u64::from(threads)).and_then(|beyond| beyond.checked_add(self.space.count));
        if beyond.is_some() { chunk } else { 0 }
    }

    /// The number of low bits of an iteration's number that are left out to find the word of its
    /// chunk's turn: at most as many as keep two chunks apart.
    fn shift(&self, threads: u32) -> u32 {
        // A static schedule without a chunk size gives each thread one chunk.
        let chunk = match self.schedule.chunk {
            0 => self.space.count.div_ceil(u64::from(threads)),
            chunk => chunk,
        };
        chunk.max(1).ilog2()
    }
}
