//! Detached tasks, which are done when their events are fulfilled.

use super::run::done;
use crate::tasks::task::End;
use crate::tasks::{Event, Shared};
use crate::team::{Context, Team};
use crate::waits::Waits;
use baton_machine::Machine;

/// Fulfils the event of a task of `team`. Any thread may do so, of the team or not.
///
/// # Safety
/// The task is not done: it holds its region open, and with it the team.
pub unsafe fn fulfil<M: Machine>(team: *const Team<M>, waits: &Waits, event: &Event<M>) {
    if let Some(end) = event.fulfil(waits) {
        event.tell_late();
        // SAFETY: the caller says that the task is not done, and its end is recorded only here.
        done(unsafe { &*team }, None, waits, end);
    }
}

impl<M: Machine> Context<M> {
    /// Makes an event for a task that the thread is about to make.
    pub fn make_event(&self) -> Shared<M, Event<M>> {
        self.team().tasks.has_event();
        Shared::new(Event::new())
    }

    /// Waits until the event of a task that ran at once is fulfilled.
    pub fn await_event(&self, event: &Event<M>) {
        self.run_until(event.word(), |now| now != 0, || self.run_child(), |now| self.doze(event.word(), now));
        M::happens_after(core::ptr::from_ref(event).cast());
    }

    #[inline(never)]
    pub(super) fn ended_with_event(&self, event: &Event<M>, end: End<M>) {
        if let Some(end) = event.body_ended(end) {
            event.tell_early();
            done(self.team(), Some(self), self.waits(), end);
        }
    }
}
