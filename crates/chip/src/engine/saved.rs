//! What a thread was doing when a signal handler interrupted it. It is saved before the handler and
//! restored afterwards, so that the handler changes nothing.
//!
//! The saved state is: what the thread waits on and since when, what its locks announced about its
//! next access, what it demands of its core, and its phase. State of the core is shared with the
//! handler, as on a processor: the store buffer with its requests to devices, and independent loads
//! under way.

use super::state::Engine;
use super::waiting::Waited;
use crate::contexts::share::Demand;
use crate::core::mark::Said;
use crate::os::signal::SignalSet;
use baton_memory::phases::state::Phase;

/// The saved state of a thread.
pub(crate) struct Saved {
    /// The wait, whether it has a deadline, and the time of its last look.
    wait: (Option<(Waited, u64)>, bool, u64),
    /// What the thread's locks announced.
    said: Said,
    demand: Demand,
    /// Whether the wait has PAUSE between its tries.
    pauses: bool,
    phase: Option<Phase>,
    /// The signals that the thread blocked.
    blocked: SignalSet,
}

impl Engine {
    /// Saves the state of the running thread, which blocks the signals in `blocks` from now on.
    pub(crate) fn save(&mut self, blocks: SignalSet) -> Saved {
        // Instructions of the kernel and of the handler disarm a monitor, and break a pair of
        // load-linked and store-conditional.
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

    /// The running thread continues what it was doing.
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
