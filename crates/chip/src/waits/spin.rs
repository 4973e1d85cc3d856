//! Spinning waits whose tries are counted: they begin, end when the core loses the line, and are
//! interrupted.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::spin::Spin;
use crate::engine::spin::progress;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, ThreadState};
use baton_memory::{Line, Memory};
use baton_units::{CoreId, Cycles};

impl Engine {
    /// The running thread has just read the value that it waits on. It tries again `between` cycles
    /// from now, and so on, until the core loses the line, `most` tries are done, or a try ends at
    /// or after `deadline`. Queues the event for the end, has the thread watch the line, and
    /// returns true; the guest must then suspend. Returns false if the core does not hold the line,
    /// so that the next try misses, or if tries are simulated.
    pub(crate) fn begin_spin(&mut self, line: Line, between: u64, most: u64, deadline: u64) -> bool {
        let id = self.running;
        let core = self.core_of(id);
        if !self.bounds.skip_tries || !self.memory.holds(core, line, Cycles(self.now)) {
            return false;
        }
        let (hit, gap) = (self.memory.hit(core).0, self.cores.clocks.whole(core, between));
        let (first, period) = (self.now + gap, gap + hit);
        let mut spin =
            Spin { line, core, first, period, hit, between, most, deadline, before: 0, busy: 0, done: 0, hits: true };
        spin.done = spin.tries();
        if spin.done != u64::MAX {
            self.queue.put(Event::thread(id), spin.last_end(spin.done), Rank::Try(id));
        }
        let thread = &mut self.threads[id as usize];
        thread.wait.spin = spin;
        thread.state = ThreadState::Spinning;
        thread.ended = Ended::Woken;
        self.watch(id, line);
        true
    }

    /// Puts the thread into the list of the line's watchers.
    pub(super) fn watch(&mut self, id: ThreadId, line: Line) {
        let first = std::mem::replace(&mut self.guest.watchers[line.0 as usize], id + 1);
        if first != 0 {
            self.threads[first as usize - 1].wait.watch_before = id + 1;
        }
        let thread = &mut self.threads[id as usize];
        (thread.wait.watch_next, thread.wait.watch_before, thread.wait.watches) = (first, 0, true);
    }

    /// Removes the thread from the list of its line's watchers, if it is in one.
    pub(crate) fn unwatch(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id as usize];
        if !thread.wait.watches {
            return;
        }
        thread.wait.watches = false;
        let (next, before, line) = (thread.wait.watch_next, thread.wait.watch_before, thread.wait.spin.line);
        if next != 0 {
            self.threads[next as usize - 1].wait.watch_before = before;
        }
        match before {
            0 => self.guest.watchers[line.0 as usize] = next,
            _ => self.threads[before as usize - 1].wait.watch_next = next,
        }
    }

    /// An operation of this moment has taken a watched line away: its watchers notice at their next
    /// try. Tries come first among the events of a moment, so a try that begins now still hits.
    #[cold]
    pub(crate) fn invalidated(&mut self, line: Line) {
        let mut next = std::mem::take(&mut self.guest.watchers[line.0 as usize]);
        while next != 0 {
            let id = next - 1;
            next = self.threads[id as usize].wait.watch_next;
            self.threads[id as usize].wait.watches = false;
            self.notices_loss(id, self.now);
        }
    }

    /// A core has lost a line: a thread that spins on the line there notices. The memory system
    /// comes before all events of a moment, so a try that begins now misses. A monitor that only
    /// stores can end stays armed.
    #[inline]
    pub(crate) fn lost(&mut self, core: CoreId, line: Line) {
        // No try of this moment has begun.
        self.notice_on(core, line, self.now.saturating_sub(1), !self.monitors_outlive_lines());
    }

    /// The running thread has written the line. The contexts of its core share the cache that holds
    /// the line, so nothing is invalidated: a thread of theirs that spins on the line, or has a
    /// monitor on it, notices the store itself. If monitors outlive their lines, all watchers of
    /// the line notice the store.
    #[inline]
    pub(crate) fn stored_beside(&mut self, line: Line) {
        if self.monitors_outlive_lines() {
            if self.guest.is_watched(line) {
                self.invalidated(line);
            }
        } else if self.chip.core.contexts != 1 && self.guest.is_watched(line) {
            self.notice_on(self.core_of(self.running), line, self.now, true);
        }
    }

    /// Whether a monitor stays armed when its core loses the line without a store.
    #[inline]
    pub(crate) fn monitors_outlive_lines(&self) -> bool {
        self.chip.wait.monitors_outlive_lines()
    }

    /// Each thread that watches the line on one of the core's CPUs notices the loss of the line or
    /// the store to it; a thread with a monitor only if `monitors`. Tries up to and including the
    /// time `last` have begun.
    #[inline]
    fn notice_on(&mut self, core: CoreId, line: Line, last: u64, monitors: bool) {
        for context in 0..self.chip.core.contexts {
            let cpu = core.0 + context * self.chip.core.count;
            let Some(id) = self.os.cpus.get(cpu as usize).and_then(|cpu| cpu.current) else { continue };
            let thread = &self.threads[id as usize];
            let notices = monitors || thread.state == ThreadState::Spinning;
            if notices && thread.wait.watches && thread.wait.spin.line == line {
                self.unwatch(id);
                self.notices_loss(id, last);
            }
        }
    }

    /// A watcher's line has gone or was written; tries up to and including the time `last` have
    /// begun.
    fn notices_loss(&mut self, id: ThreadId, last: u64) {
        let thread = &mut self.threads[id as usize];
        match thread.state {
            ThreadState::Spinning => {}
            ThreadState::IdleWait => return self.end_idle_wait(id, Ended::Woken),
            // The thread has armed its monitor and not yet executed MWAIT, which will find it
            // disarmed.
            _ => return,
        }
        let at = match progress(&thread.wait.spin, last) {
            (done, Some(hit)) => {
                (thread.wait.spin.done, thread.wait.spin.hits) = (thread.wait.spin.before + done + 1, true);
                hit
            }
            (done, None) => {
                // No try is under way: the wait becomes a pause before the thread's next try.
                let at = thread.wait.spin.issue(done);
                let spin = &mut thread.wait.spin;
                spin.before += done;
                (spin.done, spin.hits, spin.first, spin.busy, spin.period) = (spin.before, false, at, 0, u64::MAX);
                at
            }
        };
        self.queue.cancel(Event::thread(id));
        self.queue.put(Event::thread(id), at, Rank::Try(id));
    }

    /// A spinning thread must stop for a moment or for good: its CPU is wanted, a handler runs
    /// there, it has a signal, or it was killed. A try that is under way ends first. Returns
    /// whether the thread has left its wait.
    pub(crate) fn interrupt_spin(&mut self, id: ThreadId) -> bool {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        match progress(&thread.wait.spin, now) {
            (done, Some(hit)) => {
                thread.os.preempt = true;
                if thread.wait.watches {
                    (thread.wait.spin.done, thread.wait.spin.hits) = (thread.wait.spin.before + done + 1, true);
                    self.unwatch(id);
                    self.queue.cancel(Event::thread(id));
                    self.queue.put(Event::thread(id), hit, Rank::Try(id));
                }
                false
            }
            (done, None) => {
                (thread.wait.spin.done, thread.wait.spin.hits) = (thread.wait.spin.before + done, false);
                thread.ended = Ended::Interrupted;
                self.unwatch(id);
                self.queue.cancel(Event::thread(id));
                true
            }
        }
    }

    /// The running thread waits `between` cycles before its next try; the wait can be interrupted.
    pub(crate) fn begin_pause(&mut self, between: u64) {
        let id = self.running;
        let core = self.core_of(id);
        let first = self.now + self.cores.clocks.whole(core, between);
        self.queue.put(Event::thread(id), first, Rank::Try(id));
        let thread = &mut self.threads[id as usize];
        thread.wait.spin = Spin::pause(core, first);
        thread.state = ThreadState::Spinning;
        thread.ended = Ended::Woken;
    }
}
