//! Idle waits begin, end and are left: see [`idle_wait`](crate::engine::idle_wait).

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::base::thread::ThreadId;
use crate::engine::idle_wait::{IdleWait, Phase, Still, Terms};
use crate::engine::reason::Reason;
use crate::engine::state::Engine;
use crate::engine::thread::{Ended, ThreadState};
use baton_memory::{Line, Memory};
use baton_units::Cycles;

impl Engine {
    /// MONITOR's last step: the running thread has just loaded the line, and watches it from now
    /// on. If the core has lost the line meanwhile, the monitor is not armed.
    pub(crate) fn arm(&mut self, line: Line) {
        let id = self.running;
        self.unwatch(id);
        let core = self.core_of(id);
        if self.memory.holds(core, line, Cycles(self.now)) {
            self.threads[id as usize].wait.spin.line = line;
            self.watch(id, line);
        }
    }

    /// MWAIT: the running thread's CPU goes to stand still, and the guest must suspend. Returns
    /// false if the monitor is no longer armed; MWAIT then does nothing.
    pub(crate) fn begin_monitor(&mut self, terms: Terms) -> bool {
        if !self.threads[self.running as usize].wait.watches {
            return false;
        }
        let spurious = match self.chip.wait.spurious {
            0.0 => u64::MAX,
            // Uniformly distributed between 1 and twice the mean, drawn in whole numbers so that it
            // is the same on every host.
            rate => self.now + terms.enter + 1 + self.spurious.below((2e6 / rate) as u64),
        };
        self.begin_idle_wait(Terms { until: terms.until.min(spurious), ..terms });
        true
    }

    /// The running thread's CPU goes to stand still, and the guest must suspend.
    pub(crate) fn begin_idle_wait(&mut self, terms: Terms) {
        let id = self.running;
        let thread = &mut self.threads[id as usize];
        let Terms { still, exit, until, .. } = terms;
        thread.wait.idle = IdleWait { still, phase: Phase::Entering, until, exit, woken: false, mode: 0 };
        thread.state = ThreadState::IdleWait;
        thread.ended = Ended::Expired;
        let enter = self.cores.clocks.whole(self.core_of(id), terms.enter);
        self.queue.put(Event::thread(id), self.now + enter, Rank::Next);
    }

    /// The running thread has left its idle wait: charges the wait, and apart from it the time that
    /// the core took to change its mode.
    pub(crate) fn charge_idle_wait(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        let mode = std::mem::take(&mut thread.wait.idle.mode);
        thread.stats.times[Reason::Mode as usize] += mode;
        thread.stats.since += mode;
        thread.charge(Reason::Monitor, now);
    }

    /// Handles the event of a thread in an idle wait, at the end of one of its phases. Returns
    /// whether the thread's guest continues.
    pub(crate) fn idle_wait_event(&mut self, id: ThreadId) -> bool {
        let thread = &mut self.threads[id as usize];
        match thread.wait.idle.phase {
            Phase::Entering => {
                thread.wait.idle.phase = Phase::Still;
                thread.stands_still(self.now);
                let (cpu, wait) = (thread.cpu, thread.wait.idle);
                if wait.woken || wait.until <= self.now {
                    self.leave_idle_wait(id);
                } else {
                    if wait.until != u64::MAX {
                        self.queue.put(Event::thread(id), wait.until, Rank::Next);
                    }
                    self.deactivate(cpu);
                }
                false
            }
            Phase::Still => {
                self.leave_idle_wait(id);
                false
            }
            Phase::Leaving => {
                thread.state = ThreadState::Running;
                true
            }
        }
    }

    /// Ends a thread's idle wait, because the line has gone or an interrupt has come. Does nothing
    /// if the thread is in no idle wait, if its CPU is already leaving it, or if something has
    /// ended the wait before.
    pub(crate) fn end_idle_wait(&mut self, id: ThreadId, why: Ended) {
        let thread = &mut self.threads[id as usize];
        if thread.state != ThreadState::IdleWait || thread.wait.idle.phase == Phase::Leaving || thread.wait.idle.woken {
            return;
        }
        thread.ended = why;
        match thread.wait.idle.phase {
            Phase::Entering => thread.wait.idle.woken = true,
            _ => {
                self.queue.cancel(Event::thread(id));
                self.leave_idle_wait(id);
            }
        }
    }

    fn leave_idle_wait(&mut self, id: ThreadId) {
        self.unwatch(id);
        if self.threads[id as usize].wait.idle.still == Still::Halted {
            self.os.halted.retain(|&(_, halted)| halted != id);
        }
        let core = self.core_of(id);
        let mode = self.activate(self.threads[id as usize].cpu);
        let thread = &mut self.threads[id as usize];
        if thread.wait.idle.phase == Phase::Still {
            thread.stood_still(self.now);
        }
        let wait = &mut thread.wait.idle;
        (wait.phase, wait.mode) = (Phase::Leaving, mode);
        let exit = self.cores.clocks.whole(core, wait.exit);
        self.queue.put(Event::thread(id), self.now + mode + exit, Rank::Next);
    }
}
