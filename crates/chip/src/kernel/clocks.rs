//! A core's clock changes: by the host at a time, by a guest's system call, or by the governor.

use crate::base::event::Event;
use crate::base::queue::Rank;
use crate::engine::state::{Engine, Step};
use baton_units::{CoreId, Hertz};

impl Engine {
    /// Requests another clock for a core now; the core has it `core.clock_latency` later.
    pub(crate) fn ask_for_clock(&mut self, core: CoreId, clock: Hertz) {
        match self.chip.core.clock_latency.0 {
            0 => self.change_clock(core, clock),
            latency => self.schedule_clock(self.now + latency, core, clock),
        }
    }

    /// Plans a request of another clock for a core at a time that is not past.
    pub(crate) fn change_clock_at(&mut self, at: u64, core: CoreId, clock: Hertz) {
        self.schedule_clock(at.saturating_add(self.chip.core.clock_latency.0), core, clock);
    }

    fn schedule_clock(&mut self, at: u64, core: CoreId, clock: Hertz) {
        let number = self.cores.clocks.changes.len() as u64;
        self.cores.clocks.changes.insert((at.max(self.now), number), (core, clock));
        self.schedule_change();
    }

    fn schedule_change(&mut self) {
        let now = self.now;
        let next = self.cores.clocks.changes.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
        if next == self.cores.clocks.scheduled {
            return;
        }
        if self.cores.clocks.scheduled != u64::MAX {
            self.queue.cancel(Event::CLOCKS);
        }
        self.cores.clocks.scheduled = next;
        if next != u64::MAX {
            self.queue.put(Event::CLOCKS, next.max(now), Rank::Next);
        }
    }

    /// The time of a planned change has come.
    pub(crate) fn clocks_step(&mut self) -> Step {
        self.cores.clocks.scheduled = u64::MAX;
        if self.os.governing.is_some() && !self.os.lives_on() {
            // The run is over, so the time that cores spend at their clocks no longer counts.
            return Step::Handled;
        }
        while let Some(entry) = self.cores.clocks.changes.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (core, clock) = entry.remove();
            self.change_clock(core, clock);
        }
        self.schedule_change();
        Step::Handled
    }

    /// Changes a core's clock now, and tells the policy if it is another one.
    fn change_clock(&mut self, core: CoreId, clock: Hertz) {
        if self.set_clock(core, clock) {
            self.tell_speed(core);
        }
    }
}
