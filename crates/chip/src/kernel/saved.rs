//! What a thread did when a signal's handler came: it is saved, and restored behind the handler, which changes nothing of it.
//!
//! That is: what it waits on and since when, what its locks have said of their next access, what it asks of its core, and the phase that it
//! is in. What lies in the core is shared with the handler, as on a processor: the store buffer with its requests to devices, and
//! independent loads under way.

use crate::contexts::share::Demand;
use crate::core::mark::Said;
use crate::engine::state::Engine;
use crate::engine::waiting::Waited;
use crate::os::signal::SignalSet;
use baton_memory::phases::state::Phase;

/// What a thread did.
pub(crate) struct Saved {
    /// Its wait, whether that has a deadline, and its last look.
    wait: (Option<(Waited, u64)>, bool, u64),
    /// What its locks have said.
    said: Said,
    demand: Demand,
    /// Its wait has PAUSE between its tries.
    pauses: bool,
    phase: Option<Phase>,
    /// Signals that it blocked.
    blocked: SignalSet,
}

impl Engine {
    /// Saves what the running thread does; from now on it blocks these signals.
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

    /// The running thread goes on with what it did.
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
