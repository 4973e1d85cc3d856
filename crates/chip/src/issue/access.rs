//! Accesses of the running thread to memory, one line each.

use crate::base::token::Token;
use crate::engine::state::{Engine, PENDING};
use baton_memory::{Access, Answer, Line, Memory, Part, Request, Served};
use baton_units::Cycles;

impl Engine {
    /// The running thread requests a line. Returns the time at which the request is served, or
    /// [`PENDING`], and whether it hits.
    #[inline]
    pub(crate) fn access(&mut self, line: Line, access: Access) -> (u64, bool) {
        let id = self.running;
        let core = self.core_of(id);
        let thread = &mut self.threads[id as usize];
        thread.stats.counts.operations += 1;
        let mark = thread.mechanism.mark(access, &self.mechanism);
        let request = Request { token: Token::operation(id), core, line, access, mark };
        match self.memory.request(request, Cycles(self.now)) {
            Answer::Served(served) => {
                if served.invalidates && self.guest.is_watched(line) {
                    self.invalidated(line);
                }
                if !served.hit || access == Access::Atomic {
                    self.beyond_a_hit(access, served);
                }
                (served.at.0, served.hit)
            }
            Answer::Pending => (PENDING, false),
        }
    }

    /// Counts the cycles that the running thread's request takes beyond a hit in the nearest cache,
    /// by the part of the memory system that takes them.
    fn beyond_a_hit(&mut self, access: Access, served: Served) {
        let core = self.core_of(self.running);
        let atomic = if access == Access::Atomic { self.cores.clocks.whole(core, self.chip.cache.atomic.0) } else { 0 };
        let beyond = (served.at.0 - self.now).saturating_sub(self.memory.hit(core).0);
        let atomic = atomic.min(beyond);
        let parts = &mut self.threads[self.running as usize].stats.parts;
        parts[Part::Atomic as usize] += atomic;
        parts[served.beyond as usize] += beyond - atomic;
    }
}
