//! The running thread: its core, the end of its operations, and what is recorded of them.

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
    /// The core on which the thread runs, or ran last.
    #[inline(always)]
    pub(crate) fn core_of(&self, id: ThreadId) -> CoreId {
        self.threads[id as usize].core
    }

    /// The CPU of a thread, and its core.
    #[inline(always)]
    pub(crate) fn place(&self, id: ThreadId) -> (u32, CoreId) {
        (self.threads[id as usize].cpu, self.core_of(id))
    }

    /// The time at which `cycles` cycles of the running thread's core, counted from now, are over.
    #[inline(always)]
    pub(crate) fn after(&mut self, cycles: u64) -> u64 {
        if self.cores.clocks.is_uniform() {
            return self.now + cycles;
        }
        let place = self.place(self.running);
        self.cores.clocks.after(place, self.now, cycles)
    }

    /// The chip file's keys for the running thread's core.
    #[inline(always)]
    pub(crate) fn core_here(&self) -> &Core {
        let kinds = &self.cores.kinds;
        if kinds.are_alike() { kinds.common() } else { kinds.of(self.core_of(self.running)) }
    }

    /// Charges the running thread's time since its last charge to `reason`.
    #[inline(always)]
    pub(crate) fn charge_running(&mut self, reason: Reason) {
        let now = self.now;
        self.threads[self.running as usize].charge(reason, now);
    }

    /// Whether a load of `line` by the running thread would hit.
    pub(crate) fn holds_here(&self, line: Line) -> bool {
        self.memory.holds(self.core_of(self.running), line, Cycles(self.now))
    }

    /// The cycles that a hit takes at the running thread's core.
    #[inline(always)]
    pub(crate) fn hit_here(&self) -> u64 {
        self.memory.hit(self.core_of(self.running)).0
    }

    /// Records that `thread` has written the cell at `offset`, which holds the new value already.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, offset: usize, thread: ThreadId) {
        self.guest.writers[offset / 8] = thread + 1;
        if !self.log.watch.is_empty() {
            self.watched(offset, thread);
        }
    }

    #[cold]
    fn watched(&mut self, offset: usize, thread: ThreadId) {
        // SAFETY: a watched word lies in guest memory and has four bytes, as all words of the locks
        // that give hints; no guest runs now.
        let value = || unsafe { self.guest.arena.at(offset).cast::<u32>().read() };
        self.log.watch.wrote(offset, thread, self.now, value);
    }

    /// Returns whether the running thread's operation, which ends at `at`, is over at once; the
    /// time is then `at`. Otherwise its end is put into the event queue (or, if `at` is
    /// [`PENDING`], the memory system will announce it), and the guest must suspend.
    #[inline]
    pub(crate) fn over(&mut self, at: u64, rank: Rank) -> bool {
        if at < self.queue.earliest()
            && at < self.memory.next()
            && at <= self.bounds.stop.limit()
            && self.bounds.run_ahead
        {
            self.queue.advance(at);
            self.now = at;
            return true;
        }
        if at != PENDING {
            self.queue.put(Event::thread(self.running), at, rank);
        }
        false
    }

    /// Records an event of the running thread, if the run keeps the events that guests record.
    pub(crate) fn record(&mut self, time: u64, what: What) {
        if let Some(record) = &mut self.log.record {
            let thread = baton_trace::ThreadIndex(self.running);
            record.push(baton_trace::Event { time: baton_trace::Ticks(time), thread, what });
        }
    }
}
