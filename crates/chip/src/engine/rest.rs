//! Rests: waits in which the CPU stands still, with a monitor on a line or halted.
//!
//! MONITOR, the look at the value and MWAIT are steps of their own. [`Engine::arm`] has the running thread watch the
//! line that its core holds as a sharer; whatever takes the line away, or a sibling's store to it, disarms the monitor
//! again, at any time from then on. [`Engine::begin_rest`] is MWAIT: it falls through if the monitor is disarmed, else
//!
//! | phase | ends |
//! | --- | --- |
//! | entering | after the entry's price, whatever happens meanwhile |
//! | still | with the line, at a deadline or time limit, with an interrupt, or for no reason (`wait.spurious`) |
//! | leaving | after the exit's price; the guest then looks at the cell again |
//!
//! A halted CPU is the same without a line: an interrupt ends it.

use super::queue::Rank;
use super::thread::{Ended, Reason, State, ThreadId};
use super::{Engine, own};
use crate::memory::{Line, Memory};

/// How the CPU stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Still {
    /// With a monitor, at this depth (1 is the shallowest).
    Monitor(u32),
    /// Halted.
    Halted,
}

/// Where a rest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Entering,
    Still,
    Leaving,
}

/// A rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) still: Still,
    pub(crate) phase: Phase,
    /// It ends by itself at this moment: a deadline, a limit, or for no reason.
    until: u64,
    /// From what ends it to the next instruction.
    exit: u64,
    /// Something has ended it while it was still entering.
    woken: bool,
    /// Of the exit's time, what its core's change of mode took.
    pub(crate) mode: u64,
}

impl Rest {
    pub(crate) const NONE: Rest =
        Rest { still: Still::Halted, phase: Phase::Leaving, until: u64::MAX, exit: 0, woken: false, mode: 0 };
}

/// What a rest costs and how long it may last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) still: Still,
    pub(crate) enter: u64,
    pub(crate) exit: u64,
    /// It ends by itself at this moment.
    pub(crate) until: u64,
}

impl Engine {
    /// MONITOR's last step: the running thread has just loaded the line, and watches it from now on. Without the line
    /// (it may have been lost on the way to the core) the monitor is not armed.
    pub(crate) fn arm(&mut self, line: Line) {
        let id = self.running;
        self.unwatch(id);
        let core = self.core_of(id);
        if self.memory.holds(core, line) {
            self.threads[id as usize].spin.line = line;
            self.watch(id, line);
        }
    }

    /// MWAIT: the CPU of the running thread goes to stand still, and the guest suspends; false if the monitor is not
    /// armed any more, and the instruction does nothing.
    pub(crate) fn begin_monitor(&mut self, terms: Terms) -> bool {
        if !self.threads[self.running as usize].watches {
            return false;
        }
        let spurious = match self.chip.wait.spurious {
            0.0 => u64::MAX,
            // Even between 1 and twice the mean, in whole numbers: the same on every host.
            rate => self.now + terms.enter + 1 + self.spurious.below((2e6 / rate) as u64),
        };
        self.begin_rest(Terms { until: terms.until.min(spurious), ..terms });
        true
    }

    /// The CPU of the running thread goes to stand still; the guest suspends.
    pub(crate) fn begin_rest(&mut self, terms: Terms) {
        let id = self.running;
        let thread = &mut self.threads[id as usize];
        let Terms { still, exit, until, .. } = terms;
        thread.rest = Rest { still, phase: Phase::Entering, until, exit, woken: false, mode: 0 };
        thread.state = State::Resting;
        thread.ended = Ended::Expired;
        let enter = self.clocks.whole(self.core_of(id), terms.enter);
        self.queue.put(own(id), self.now + enter, Rank::Next);
    }

    /// The running thread has left its rest: charges it, and apart from it what its core's change of mode took.
    pub(crate) fn charge_rest(&mut self) {
        let now = self.now;
        let thread = &mut self.threads[self.running as usize];
        let mode = std::mem::take(&mut thread.rest.mode);
        thread.times[Reason::Mode as usize] += mode;
        thread.since += mode;
        thread.charge(Reason::Monitor, now);
    }

    /// The event of a resting thread; whether its guest runs on.
    pub(crate) fn rest_event(&mut self, id: ThreadId) -> bool {
        let thread = &mut self.threads[id as usize];
        match thread.rest.phase {
            Phase::Entering => {
                thread.rest.phase = Phase::Still;
                thread.stands_still(self.now);
                let (cpu, rest) = (thread.cpu, thread.rest);
                if rest.woken || rest.until <= self.now {
                    self.leave_rest(id);
                } else {
                    if rest.until != u64::MAX {
                        self.queue.put(own(id), rest.until, Rank::Next);
                    }
                    self.deactivate(cpu);
                }
                false
            }
            Phase::Still => {
                self.leave_rest(id);
                false
            }
            Phase::Leaving => {
                thread.state = State::Running;
                true
            }
        }
    }

    /// Something ends the rest: the line has gone, or an interrupt has come. What comes while it is left already, or
    /// while the CPU does not rest, changes nothing.
    pub(crate) fn end_rest(&mut self, id: ThreadId, why: Ended) {
        let thread = &mut self.threads[id as usize];
        if thread.state != State::Resting || thread.rest.phase == Phase::Leaving || thread.rest.woken {
            return;
        }
        thread.ended = why;
        match thread.rest.phase {
            Phase::Entering => thread.rest.woken = true,
            _ => {
                self.queue.cancel(own(id));
                self.leave_rest(id);
            }
        }
    }

    fn leave_rest(&mut self, id: ThreadId) {
        self.unwatch(id);
        if self.threads[id as usize].rest.still == Still::Halted {
            self.halted.retain(|&(_, halted)| halted != id);
        }
        let core = self.core_of(id);
        let mode = self.activate(self.threads[id as usize].cpu);
        let thread = &mut self.threads[id as usize];
        if thread.rest.phase == Phase::Still {
            thread.stood_still(self.now);
        }
        let rest = &mut thread.rest;
        (rest.phase, rest.mode) = (Phase::Leaving, mode);
        let exit = self.clocks.whole(core, rest.exit);
        self.queue.put(own(id), self.now + mode + exit, Rank::Next);
    }
}
