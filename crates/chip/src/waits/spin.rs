//! Spinning waits begin, have their tries counted when the line is lost, and are interrupted.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::spin::Spin;
use crate::engine::spin::progress;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, State};
use baton_memory::{Line, Memory};
use baton_units::{CoreId, Cycles};

impl Engine {
    /// The running thread has just read the value that it waits on. It tries again every `between`
    /// cycles until the line is lost, `most` tries are done, or a try ends at or after `deadline`.
    /// The function inserts the thread's event and makes it watch the line; the guest suspends.
    /// Returns false if the core does not hold the line, because the next try then misses.
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
        thread.state = State::Spinning;
        thread.ended = Ended::Woken;
        self.watch(id, line);
        true
    }

    /// Makes the thread watch the line.
    pub(super) fn watch(&mut self, id: ThreadId, line: Line) {
        let first = std::mem::replace(&mut self.guest.watchers[line.0 as usize], id + 1);
        if first != 0 {
            self.threads[first as usize - 1].wait.watch_before = id + 1;
        }
        let thread = &mut self.threads[id as usize];
        (thread.wait.watch_next, thread.wait.watch_before, thread.wait.watches) = (first, 0, true);
    }

    /// Removes the thread from its line's list of watchers, if it is on one.
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

    /// An operation at this moment has taken a watched line away. Its watchers notice at their next
    /// try. Tries come first among the events of a moment, so a try that begins now has hit.
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

    /// A core has lost a line, and threads that spin on it there notice. The memory system acts
    /// before all events of a moment, so a try that begins now misses. A monitor that only stores
    /// end stays armed.
    #[inline]
    pub(crate) fn lost(&mut self, core: CoreId, line: Line) {
        // No try of this moment has begun.
        self.notice_on(core, line, self.now.saturating_sub(1), !self.monitors_outlive_lines());
    }

    /// The running thread has written the line. Its siblings share the cache that holds the line,
    /// so nothing is invalidated: a sibling that spins or has a monitor on the line notices the
    /// store itself. So does each monitor that survives the loss of its line.
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

    /// Threads on the core's CPUs that watch the line notice; threads with a monitor only if
    /// `monitors` is set. Tries up to and including the moment `last` have begun.
    #[inline]
    fn notice_on(&mut self, core: CoreId, line: Line, last: u64, monitors: bool) {
        for context in 0..self.chip.core.contexts {
            let cpu = core.0 + context * self.chip.core.count;
            let Some(id) = self.os.cpus.get(cpu as usize).and_then(|cpu| cpu.current) else { continue };
            let thread = &self.threads[id as usize];
            let notices = monitors || thread.state == State::Spinning;
            if notices && thread.wait.watches && thread.wait.spin.line == line {
                self.unwatch(id);
                self.notices_loss(id, last);
            }
        }
    }

    /// A watcher's line is lost. Tries up to and including the moment `last` have begun.
    fn notices_loss(&mut self, id: ThreadId, last: u64) {
        let thread = &mut self.threads[id as usize];
        match thread.state {
            State::Spinning => {}
            State::IdleWait => return self.end_idle_wait(id, Ended::Woken),
            // The monitor is armed, but the thread does not wait in it yet. MWAIT will find it
            // disarmed.
            _ => return,
        }
        let at = match progress(&thread.wait.spin, last) {
            (done, Some(hit)) => {
                (thread.wait.spin.done, thread.wait.spin.hits) = (thread.wait.spin.before + done + 1, true);
                hit
            }
            (done, None) => {
                // From now on the time until that try is a pause.
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

    /// The core of a spinning thread is needed. A try in flight ends first. Returns whether the
    /// thread has left.
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
}
