//! Waits that watch a line. A thread that spins on a line that its core holds reads the same value over and over until
//! the line is taken away, so its tries need no events: when the line goes, or when the wait is bounded, the tries that
//! fitted in are counted and the thread runs on exactly where it would have been.

use super::queue::Rank;
use super::thread::{Ended, Spin, State, ThreadId};
use super::{Engine, own};
use crate::memory::{Line, Memory};
use baton_units::CoreId;

/// Tries that are complete at `now`, of those since the clock changed last, and the end of a hit that is in flight.
pub(crate) fn progress(spin: &Spin, now: u64) -> (u64, Option<u64>) {
    if now < spin.first {
        return if now < spin.busy { (0, Some(spin.busy)) } else { (spin.carried(), None) };
    }
    let turn = (now - spin.first) / spin.period;
    let (issued, done) = (spin.first + turn * spin.period, spin.carried() + turn);
    if now < issued + spin.hit { (done, Some(issued + spin.hit)) } else { (done + 1, None) }
}

impl Spin {
    /// Nothing is tried before `first`.
    pub(crate) fn pause(core: CoreId, first: u64) -> Spin {
        Spin {
            line: Line(0),
            core,
            first,
            period: u64::MAX,
            hit: 0,
            between: 0,
            most: u64::MAX,
            deadline: u64::MAX,
            before: 0,
            busy: 0,
            done: 0,
            hits: false,
        }
    }

    /// One if a try was under way when the clock changed last: it is the first of those that are counted from there.
    #[inline(always)]
    fn carried(&self) -> u64 {
        u64::from(self.busy != 0)
    }

    /// When the try behind `done` of them is issued.
    #[inline]
    pub(crate) fn issue(&self, done: u64) -> u64 {
        self.first + (done - self.carried()) * self.period
    }

    /// How many tries there are, with nothing in between: as many as are left, or up to the first that ends at or after
    /// the deadline. [`u64::MAX`]: without end.
    pub(crate) fn tries(&self) -> u64 {
        let until_deadline = match self.deadline {
            u64::MAX => u64::MAX,
            deadline if self.busy >= deadline => 1,
            deadline => deadline.saturating_sub(self.first + self.hit).div_ceil(self.period) + 1 + self.carried(),
        };
        self.most.min(until_deadline)
    }

    /// When the last of so many ends.
    pub(crate) fn last_end(&self, tries: u64) -> u64 {
        match tries - self.carried() {
            0 => self.busy,
            further => (further - 1).saturating_mul(self.period).saturating_add(self.first + self.hit),
        }
    }
}

impl Engine {
    /// The running thread has just read the value that it waits on, and tries again `between` cycles from now, and so
    /// on until the line goes, `most` tries are done, or a try ends at or after `deadline`. Puts its event in and has it
    /// watch the line; the guest suspends. False if the core does not hold the line: the next try is a miss.
    pub(crate) fn begin_spin(&mut self, line: Line, between: u64, most: u64, deadline: u64) -> bool {
        let id = self.running;
        let core = self.core_of(id);
        if !self.skip_tries || !self.memory.holds(core, line) {
            return false;
        }
        let (hit, gap) = (self.memory.hit(core).0, self.clocks.whole(core, between));
        let (first, period) = (self.now + gap, gap + hit);
        let mut spin =
            Spin { line, core, first, period, hit, between, most, deadline, before: 0, busy: 0, done: 0, hits: true };
        spin.done = spin.tries();
        if spin.done != u64::MAX {
            self.queue.put(own(id), spin.last_end(spin.done), Rank::Try(id));
        }
        let thread = &mut self.threads[id as usize];
        thread.spin = spin;
        thread.state = State::Spinning;
        thread.ended = Ended::Woken;
        self.watch(id, line);
        true
    }

    /// The thread watches the line.
    pub(super) fn watch(&mut self, id: ThreadId, line: Line) {
        let first = std::mem::replace(&mut self.watchers[line.0 as usize], id + 1);
        if first != 0 {
            self.threads[first as usize - 1].watch_before = id + 1;
        }
        let thread = &mut self.threads[id as usize];
        (thread.watch_next, thread.watch_before, thread.watches) = (first, 0, true);
    }

    /// Takes the thread off its line's list, if it is on one.
    pub(crate) fn unwatch(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id as usize];
        if !thread.watches {
            return;
        }
        thread.watches = false;
        let (next, before, line) = (thread.watch_next, thread.watch_before, thread.spin.line);
        if next != 0 {
            self.threads[next as usize - 1].watch_before = before;
        }
        match before {
            0 => self.watchers[line.0 as usize] = next,
            _ => self.threads[before as usize - 1].watch_next = next,
        }
    }

    /// A line that is watched has been taken away by an operation of this moment: its watchers notice at their next
    /// try. Tries come first among the events of a moment, so one that begins now has hit.
    #[cold]
    pub(crate) fn invalidated(&mut self, line: Line) {
        let mut next = std::mem::take(&mut self.watchers[line.0 as usize]);
        while next != 0 {
            let id = next - 1;
            next = self.threads[id as usize].watch_next;
            self.threads[id as usize].watches = false;
            self.notices_loss(id, self.now);
        }
    }

    /// A core has lost a line: whoever spins there on it notices. The memory system comes before all events of a moment,
    /// so a try that begins now misses.
    #[inline]
    pub(crate) fn lost(&mut self, core: CoreId, line: Line) {
        // No try of this moment has begun.
        self.notice_on(core, line, self.now.saturating_sub(1));
    }

    /// The running thread has written the line. Its siblings share the cache that holds it, so nothing is invalidated:
    /// whoever spins or has a monitor there notices the store itself.
    #[inline]
    pub(crate) fn stored_beside(&mut self, line: Line) {
        if self.chip.core.contexts != 1 && self.watchers[line.0 as usize] != 0 {
            self.notice_on(self.core_of(self.running), line, self.now);
        }
    }

    /// Whoever watches the line on one of the core's CPUs notices; tries up to and including `last` have begun.
    #[inline]
    fn notice_on(&mut self, core: CoreId, line: Line, last: u64) {
        for context in 0..self.chip.core.contexts {
            let cpu = core.0 + context * self.chip.core.count;
            let Some(id) = self.cpus.get(cpu as usize).and_then(|cpu| cpu.current) else { continue };
            let thread = &self.threads[id as usize];
            if thread.watches && thread.spin.line == line {
                self.unwatch(id);
                self.notices_loss(id, last);
            }
        }
    }

    /// A watcher's line is gone; tries up to and including `last` have begun.
    fn notices_loss(&mut self, id: ThreadId, last: u64) {
        let thread = &mut self.threads[id as usize];
        match thread.state {
            State::Spinning => {}
            State::Resting => return self.end_rest(id, Ended::Woken),
            // A monitor that is armed and not yet waited with: MWAIT will find it disarmed.
            _ => return,
        }
        let at = match progress(&thread.spin, last) {
            (done, Some(hit)) => {
                (thread.spin.done, thread.spin.hits) = (thread.spin.before + done + 1, true);
                hit
            }
            (done, None) => {
                // From now on it is a pause before that try.
                let at = thread.spin.issue(done);
                let spin = &mut thread.spin;
                spin.before += done;
                (spin.done, spin.hits, spin.first, spin.busy, spin.period) = (spin.before, false, at, 0, u64::MAX);
                at
            }
        };
        self.queue.cancel(own(id));
        self.queue.put(own(id), at, Rank::Try(id));
    }

    /// The core of a spinning thread is asked for. A try that is in flight ends first; whether the thread has left.
    pub(crate) fn interrupt_spin(&mut self, id: ThreadId) -> bool {
        let now = self.now;
        let thread = &mut self.threads[id as usize];
        match progress(&thread.spin, now) {
            (done, Some(hit)) => {
                thread.preempt = true;
                if thread.watches {
                    (thread.spin.done, thread.spin.hits) = (thread.spin.before + done + 1, true);
                    self.unwatch(id);
                    self.queue.cancel(own(id));
                    self.queue.put(own(id), hit, Rank::Try(id));
                }
                false
            }
            (done, None) => {
                (thread.spin.done, thread.spin.hits) = (thread.spin.before + done, false);
                thread.ended = Ended::Interrupted;
                self.unwatch(id);
                self.queue.cancel(own(id));
                true
            }
        }
    }
}
