//! The state of a thread when a signal's handler interrupts it: saved before the handler, and
//! restored after it as if the handler had not run.
//!
//! The state is what the thread waits on and since when, what its locks have said of their next
//! access, what it demands of its core, whether it waits with PAUSE, the phase that it is in, and
//! the signals that it blocks. What lies in the core is not saved, but shared with the handler, as
//! on a processor: the store buffer with its requests to devices, and independent loads under way.

use crate::contexts::share::Demand;
use crate::core::mark::SavedHints;
use crate::engine::state::Engine;
use crate::engine::waiting::Waited;
use crate::os::signal::SignalSet;
use baton_memory::phases::state::Phase;

/// The saved state of a thread.
pub(crate) struct Saved {
    /// What the thread waits on and since when, whether the wait has a deadline, and when the
    /// thread last looked.
    wait: (Option<(Waited, u64)>, bool, u64),
    /// The hints that the thread's locks have given.
    said: SavedHints,
    demand: Demand,
    /// Whether the thread's wait has PAUSE between its tries.
    pauses: bool,
    phase: Option<Phase>,
    /// The signals that the thread blocked.
    blocked: SignalSet,
}

impl Engine {
    /// Saves the running thread's state, and sets the signals that it blocks from now on.
    pub(crate) fn save(&mut self, blocks: SignalSet) -> Saved {
        // The kernel's instructions, and the handler's, disarm a monitor and break a pair of load-linked and store-conditional.
        self.unwatch(self.running);
        self.unlink();
        let demand = self.threads[self.running as usize].pace.demand;
        self.demand(Demand::Nothing);
        let phase = self.phases.as_mut().and_then(|phases| phases.save(self.running));
        let thread = &mut self.threads[self.running as usize];
        let pauses = thread.is_pausing();
        thread.paused();
        let wait = (thread.wait.waits_on.take(), std::mem::take(&mut thread.wait.bounded), thread.wait.looked);
        let blocked = std::mem::replace(&mut thread.os.signals.blocked, blocks);
        Saved { wait, said: thread.mechanism.save(), demand, pauses, phase, blocked }
    }

    /// Restores the running thread's state.
    pub(crate) fn restore(&mut self, saved: Saved) {
        let Saved { wait, said, demand, pauses, phase, blocked } = saved;
        if let (Some(phases), Some(phase)) = (&mut self.phases, phase) {
            phases.restore(self.running, phase);
        }
        let thread = &mut self.threads[self.running as usize];
        (thread.wait.waits_on, thread.wait.bounded, thread.wait.looked) = wait;
        thread.mechanism.restore(said);
        if pauses {
            thread.pauses();
        }
        thread.os.signals.blocked = blocked;
        self.demand(demand);
    }
}
