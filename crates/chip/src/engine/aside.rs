//! What a thread did when a signal's handler came: it is set aside, and comes back behind the handler, which changes nothing of it.
//!
//! That is: what it waits on and since when, what its locks have said of their next access, what it asks of its core, and the phase that it
//! is in. What lies in the core is shared with the handler, as on a processor: the store buffer with its requests to devices, and
//! independent loads under way.

use super::state::Engine;
use super::waiting::Waited;
use crate::contexts::share::Demand;
use crate::core::mark::Said;
use crate::memory::phases::state::Phase;
use crate::os::signal::SignalSet;

/// What a thread did.
pub(crate) struct Aside {
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
    /// What the running thread does is set aside; from now on it blocks these signals.
    pub(crate) fn set_aside(&mut self, blocks: SignalSet) -> Aside {
        // The kernel's instructions, and the handler's, disarm a monitor and break a pair of load-linked and store-conditional.
        self.unwatch(self.running);
        self.unlink();
        let demand = self.threads[self.running as usize].pace.demand;
        self.demand(Demand::Nothing);
        let phase = self.phases.as_mut().and_then(|phases| phases.set_aside(self.running));
        let thread = &mut self.threads[self.running as usize];
        let pauses = thread.is_pausing();
        thread.paused();
        let wait = (thread.wait.waits_on.take(), std::mem::take(&mut thread.wait.bounded), thread.wait.looked);
        let blocked = std::mem::replace(&mut thread.os.signals.blocked, blocks);
        Aside { wait, said: thread.mechanism.set_aside(), demand, pauses, phase, blocked }
    }

    /// The running thread goes on with what it did.
    pub(crate) fn take_up(&mut self, aside: Aside) {
        let Aside { wait, said, demand, pauses, phase, blocked } = aside;
        if let (Some(phases), Some(phase)) = (&mut self.phases, phase) {
            phases.take_up(self.running, phase);
        }
        let thread = &mut self.threads[self.running as usize];
        (thread.wait.waits_on, thread.wait.bounded, thread.wait.looked) = wait;
        thread.mechanism.take_up(said);
        if pauses {
            thread.pauses();
        }
        thread.os.signals.blocked = blocked;
        self.demand(demand);
    }
}
