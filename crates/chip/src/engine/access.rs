//! The running thread: its core, the end of its operations, and what is written down about them.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use crate::engine::state::{Engine, PENDING};
use baton_chipfile::config::Core;
use baton_memory::{Line, Memory};
use baton_trace::What;
use baton_units::{CoreId, Cycles};

impl Engine {
    /// The core whose CPU the thread has, or had last.
    #[inline(always)]
    pub(crate) fn core_of(&self, id: ThreadId) -> CoreId {
        self.threads[id as usize].core
    }

    /// The CPU of a thread, and its core.
    #[inline(always)]
    pub(crate) fn place(&self, id: ThreadId) -> (u32, CoreId) {
        (self.threads[id as usize].cpu, self.core_of(id))
    }

    /// When `cycles` cycles of the running thread's core, which begin now, are over.
    #[inline(always)]
    pub(crate) fn after(&mut self, cycles: u64) -> u64 {
        if self.cores.clocks.is_uniform() {
            return self.now + cycles;
        }
        let place = self.place(self.running);
        self.cores.clocks.after(place, self.now, cycles)
    }

    /// The chip file's table for the running thread's core.
    #[inline(always)]
    pub(crate) fn core_here(&self) -> &Core {
        let kinds = &self.cores.kinds;
        if kinds.are_alike() { kinds.common() } else { kinds.of(self.core_of(self.running)) }
    }

    /// All time of the running thread since the last charge had this reason.
    #[inline(always)]
    pub(crate) fn charge_running(&mut self, reason: Reason) {
        let now = self.now;
        self.threads[self.running as usize].charge(reason, now);
    }

    /// Whether the running thread's load would hit.
    pub(crate) fn holds_here(&self, line: Line) -> bool {
        self.memory.holds(self.core_of(self.running), line, Cycles(self.now))
    }

    /// What a hit takes at the running thread's core.
    #[inline(always)]
    pub(crate) fn hit_here(&self) -> u64 {
        self.memory.hit(self.core_of(self.running)).0
    }

    /// Notes who wrote the cell at `offset`; its new value stands there.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, offset: usize, thread: ThreadId) {
        self.guest.writers[offset / 8] = thread + 1;
        if !self.log.watch.is_empty() {
            self.watched(offset, thread);
        }
    }

    #[cold]
    fn watched(&mut self, offset: usize, thread: ThreadId) {
        // SAFETY: a watched word is a live cell of four bytes, and no guest runs now.
        let value = || unsafe { self.guest.arena.at(offset).cast::<u32>().read() };
        self.log.watch.wrote(offset, thread, self.now, value);
    }

    /// Whether the running thread's operation that ends at `at` is over, and time with it. Otherwise it is queued (or,
    /// [`PENDING`], the memory system will tell), and the guest suspends.
    #[inline]
    pub(crate) fn over(&mut self, at: u64, rank: Rank) -> bool {
        if at < self.queue.earliest() && at < self.memory.next() && at <= self.bounds.limit && self.bounds.run_ahead {
            self.queue.advance(at);
            self.now = at;
            return true;
        }
        if at != PENDING {
            self.queue.put(Event::thread(self.running), at, rank);
        }
        false
    }

    /// Records an act of the running thread.
    pub(crate) fn record(&mut self, time: u64, what: What) {
        if let Some(record) = &mut self.log.record {
            let thread = baton_trace::ThreadIndex(self.running);
            record.push(baton_trace::Event { time: baton_trace::Ticks(time), thread, what });
        }
    }
}
